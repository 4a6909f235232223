// The few containers that the stand-in needs. The language's own library is left out: compiling it takes longer than all tests.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

inline void* operator new(size_t, void* place) noexcept { return place; }

template <class T> class List {
  T* items = nullptr;
  size_t count = 0, room = 0;

 public:
  List() = default;
  List(const List& other) { for (const T& one : other) push_back(one); }
  List(List&& other) noexcept : items(other.items), count(other.count), room(other.room) { other.items = nullptr, other.count = other.room = 0; }
  List& operator=(List other) noexcept {
    T* kept = items; items = other.items; other.items = kept;
    size_t number = count; count = other.count; other.count = number;
    room = other.room;
    return *this;
  }
  ~List() { clear(); free((void*)items); }
  void push_back(T one) {
    if (count == room) {
      room = room ? 2 * room : 8;
      T* larger = (T*)malloc(room * sizeof(T));
      for (size_t i = 0; i < count; i++) { new (larger + i) T((T&&)items[i]); items[i].~T(); }
      free((void*)items);
      items = larger;
    }
    new (items + count++) T((T&&)one);
  }
  void emplace_back() { push_back(T()); }
  void pop_back() { items[--count].~T(); }
  void resize(size_t wanted) { while (count > wanted) pop_back(); while (count < wanted) push_back(T()); }
  void clear() { resize(0); }
  void erase(size_t at) { for (; at + 1 < count; at++) items[at] = (T&&)items[at + 1]; pop_back(); }
  T& back() { return items[count - 1]; }
  T* data() { return items; }
  const T* data() const { return items; }
  size_t size() const { return count; }
  bool empty() const { return !count; }
  T& operator[](size_t i) { return items[i]; }
  const T& operator[](size_t i) const { return items[i]; }
  T* begin() { return items; }
  T* end() { return items + count; }
  const T* begin() const { return items; }
  const T* end() const { return items + count; }
};

template <class A, class B> struct Pair { A first; B second; };

struct View {  // of text that somebody else keeps
  const char* text = "";
  size_t length = 0;
  constexpr View() = default;
  constexpr View(const char* of) : text(of), length(__builtin_strlen(of)) {}
  constexpr View(const char* of, size_t so_long) : text(of), length(so_long) {}
  const char* data() const { return text; }
  size_t size() const { return length; }
  bool empty() const { return !length; }
  char operator[](size_t i) const { return text[i]; }
  char back() const { return text[length - 1]; }
  bool operator==(View other) const { return length == other.length && !memcmp(text, other.text, length); }
  bool starts_with(View with) const { return length >= with.length && !memcmp(text, with.text, with.length); }
  bool ends_with(View with) const { return length >= with.length && !memcmp(text + length - with.length, with.text, with.length); }
  View substr(size_t from, size_t so_long = size_t(-1)) const { return {text + from, so_long < length - from ? so_long : length - from}; }
  size_t find(char c, size_t from) const { while (from < length && text[from] != c) from++; return from; }
};

template <class Key, class Value> struct Map {  // few entries, in the order in which they came
  List<Pair<Key, Value>> entries;
  Value* find(const Key& key) {
    for (auto& entry : entries) if (entry.first == key) return &entry.second;
    return nullptr;
  }
  Value& operator[](const Key& key) {
    if (Value* found = find(key)) return *found;
    entries.push_back({key, Value()});
    return entries.back().second;
  }
};
