"""cub_move.h: items are loaded, exchanged, flagged, sorted and stored by the block."""

from __future__ import annotations

import numpy as np
import pytest

THREADS, ITEMS = 96, 3
COUNT = THREADS * ITEMS


@pytest.mark.parametrize(
    ("dtype", "name", "order"),
    [(np.int32, "int", "Sort"), (np.uint32, "unsigned", "SortDescending"), (np.float32, "float", "SortDescending")],
)
def test_radix_sort_is_stable_and_carries_values(run, dtype, name, order):
    x = (np.random.default_rng(1).normal(size=COUNT) * 1000).astype(dtype)
    x[5:30] = x[0]
    keys, values = np.zeros(COUNT, dtype), np.zeros(COUNT, np.int32)
    code = f"""
    #include <cub/cub.cuh>
    __global__ void k({name}* keys, int* values, const {name}* x) {{
      typedef cub::BlockLoad<{name}, {THREADS}, {ITEMS}, cub::BLOCK_LOAD_TRANSPOSE> Load;
      typedef cub::BlockStore<{name}, {THREADS}, {ITEMS}, cub::BLOCK_STORE_VECTORIZE> Store;
      typedef cub::BlockRadixSort<{name}, {THREADS}, {ITEMS}, int> Sort;
      __shared__ union {{ Load::TempStorage load; Store::TempStorage store; Sort::TempStorage sort; }} room;
      {name} key[{ITEMS}];
      int value[{ITEMS}];
      Load(room.load).Load(x, key, 280, 7);
      for (int i = 0; i < {ITEMS}; ++i) value[i] = threadIdx.x * {ITEMS} + i;
      __syncthreads();
      Sort(room.sort).{order}(key, value);
      __syncthreads();
      Store(room.store).Store(keys, key);
      cub::BlockStore<int, {THREADS}, {ITEMS}>().Store(values, value);
    }}"""
    run(code, keys, values, x, block=(THREADS, 1, 1))
    given = np.append(x[:280], np.full(8, 7, dtype))
    expected = np.argsort(given if order == "Sort" else -given.astype(np.float64), kind="stable")
    np.testing.assert_array_equal(keys, given[expected])
    np.testing.assert_array_equal(values, expected)


def test_exchange_and_discontinuity(run):
    x = np.sort(np.random.default_rng(2).integers(0, 50, 256)).astype(np.int32)
    striped, heads, tails = np.zeros((3, 64, 4), np.int32)
    code = """
    #include <cub/block/block_discontinuity.cuh>
    #include <cub/block/block_exchange.cuh>
    __global__ void k(int* striped, int* heads, int* tails, const int* x) {
      typedef cub::BlockExchange<int, 64, 4> Exchange;
      typedef cub::BlockDiscontinuity<int, 64> Edges;
      __shared__ Exchange::TempStorage exchange;
      __shared__ Edges::TempStorage edges[2];
      int item[4], head[4], tail[4];
      for (int i = 0; i < 4; ++i) item[i] = x[threadIdx.x * 4 + i];
      Edges(edges[0]).FlagHeads(head, item, cub::Inequality());
      Edges(edges[1]).FlagTails(tail, item, cub::Inequality());
      Exchange(exchange).BlockedToStriped(item, item);
      for (int i = 0; i < 4; ++i) {
        const int place = threadIdx.x * 4 + i;
        striped[place] = item[i], heads[place] = head[i], tails[place] = tail[i];
      }
    }"""
    run(code, striped, heads, tails, x, block=(64, 1, 1))
    np.testing.assert_array_equal(striped, x.reshape(4, 64).T)
    np.testing.assert_array_equal(heads.ravel(), np.append(1, x[1:] != x[:-1]))
    np.testing.assert_array_equal(tails.ravel(), np.append(x[1:] != x[:-1], 1))
