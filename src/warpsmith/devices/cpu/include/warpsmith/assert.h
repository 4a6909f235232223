// assert, redefined at each inclusion as the C standard asks: NDEBUG may come and go between two of them. No include guard.
#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#else
#define assert(...) ((__VA_ARGS__) ? (void)0 : __warpsmith::record_trap(__warpsmith::trap_assert, __builtin_LINE()))
#endif
