/* own_kernel.cu - an index on a GPU, asked from a kernel of one's own.
 *
 *     nvcc own_kernel.cu $(pkg-config --cflags --libs sextant)
 *
 * own_kernel.h says what is asked. */
#include <sextant.h>

#include "own_kernel.h"

#include <algorithm>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define TRADES 1000000u
#define ORDERS 100000u
#define DAY 86400000000u          /* microseconds */
#define WINDOW 2000000u

/* The handle comes by value; __grid_constant__ lets us take its address
 * without a copy for each thread. */
__global__ static void ask(const __grid_constant__ sx_handle h,
                           const __grid_constant__ own_orders orders, uint64_t n)
{
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n;
         i += (uint64_t)gridDim.x * blockDim.x)
        own_order(&h, &orders, i);
}

static void fail(const char *why)
{
    fprintf(stderr, "own_kernel: %s\n", why);
    exit(1);
}

static void must(cudaError_t e)
{
    if (e != cudaSuccess)
        fail(cudaGetErrorString(e));
}

template <typename T> static T *to_gpu(const std::vector<T> &v)
{
    T *p;

    must(cudaMalloc((void **)&p, v.size() * sizeof(T)));
    must(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

/* The same on the host, over trades in the order of time. */
static uint64_t expected(const std::vector<std::pair<uint64_t, uint32_t> > &trades, uint64_t at,
                         uint32_t wanted)
{
    size_t i = std::upper_bound(trades.begin(), trades.end(), std::make_pair(at, UINT32_MAX)) -
               trades.begin();
    uint64_t sum = 0;

    while (i-- > 0 && at - trades[i].first <= WINDOW)
        if ((sum += trades[i].second) >= wanted)
            return trades[i].first;
    return SX_MISS;
}

static uint64_t next_random(void)
{
    static uint64_t x = 0x9e3779b97f4a7c15u;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

int main(void)
{
    std::vector<uint64_t> when(TRADES), at(ORDERS), since(ORDERS);
    std::vector<uint32_t> amount(TRADES), wanted(ORDERS);
    std::vector<std::pair<uint64_t, uint32_t> > sorted(TRADES);
    sx_column keys = sx_column();
    sx_device *dev;
    sx_index *ix;
    sx_handle handle;
    own_orders orders;
    unsigned filled = 0;

    for (unsigned i = 0; i < TRADES; i++) {
        when[i] = next_random() % DAY;
        amount[i] = 1 + next_random() % 100;
        sorted[i] = std::make_pair(when[i], amount[i]);
    }
    for (unsigned i = 0; i < ORDERS; i++) {
        at[i] = next_random() % DAY;
        wanted[i] = 1 + next_random() % 2000;
    }
    std::sort(sorted.begin(), sorted.end());

    /* Rows are positions in `when`, and so in `amount`. */
    keys.type = SX_U64;
    keys.place = SX_HOST;
    keys.n = TRADES;
    keys.data = when.data();
    if (sx_open(&dev, "cuda:0") || sx_build(&ix, dev, "pivot", &keys, NULL, NULL) ||
        sx_kernel_handle(ix, &handle, sizeof handle))
        fail(sx_detail());

    orders.amount = to_gpu(amount);
    orders.at = to_gpu(at);
    orders.wanted = to_gpu(wanted);
    orders.window = WINDOW;
    orders.since = to_gpu(since);
    ask<<<(ORDERS + 255) / 256, 256>>>(handle, orders, ORDERS);
    must(cudaGetLastError());
    must(cudaMemcpy(since.data(), orders.since, ORDERS * sizeof since[0],
                         cudaMemcpyDeviceToHost));

    for (unsigned i = 0; i < ORDERS; i++) {
        if (since[i] != expected(sorted, at[i], wanted[i]))
            fail("a wrong answer");
        filled += since[i] != SX_MISS;
    }
    printf("%u orders, %u of them met by the trades of the %u s before; all answers right\n",
           ORDERS, filled, WINDOW / 1000000u);
    sx_free(ix);
    sx_close(dev);
    return 0;
}
