#define _GNU_SOURCE
#include "base/machine.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *sx_simd_name(sx_simd level)
{
    static const char *const names[] = {"scalar", "avx2", "avx512"};

    return names[level];
}

sx_simd sx_simd_best(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    /* What the functions are compiled for: SX_TARGET_ in family/generic/simd.h. */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("popcnt") ||
        !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
        return SX_SCALAR;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return SX_AVX512;
    return SX_AVX2;
#else
    return SX_SCALAR;
#endif
}

int sx_gathers_fast(void)
{
    static const char path[] = "/sys/devices/system/cpu/vulnerabilities/gather_data_sampling";
    char text[32] = "";
    FILE *f = fopen(path, "re");

    if (f) {
        if (!fgets(text, sizeof text, f))
            text[0] = '\0';
        fclose(f);
    }
    return strncmp(text, "Mitigation", 10) != 0;
}

unsigned sx_cpu_count(void)
{
#ifdef __linux__
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

uint64_t sx_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), each = sysconf(_SC_PAGESIZE);

    return pages > 0 && each > 0 ? (uint64_t)pages * (uint64_t)each : 0;
}

void sx_cpu_model(char *text, size_t space)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];

    snprintf(text, space, "unknown processor");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, "model name", 10) == 0) {
            colon[strcspn(colon, "\n")] = '\0';
            snprintf(text, space, "%s", colon[1] == ' ' ? colon + 2 : colon + 1);
            break;
        }
    }
    if (f)
        fclose(f);
}

/* ---- time ---------------------------------------------------------------- */

#define NS_PER_S 1000000000u
/* A test's clock wakes nobody. So a thread that waits for it looks again after this time. */
#define LOOK_AGAIN_NS 1000000u

static uint64_t (*_Atomic replaced_clock)(void);

uint64_t sx_machine_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t sx_clock_ns(void)
{
    uint64_t (*clock_ns)(void) = atomic_load_explicit(&replaced_clock, memory_order_relaxed);

    return clock_ns ? clock_ns() : sx_machine_ns();
}

void sx_clock_replace(uint64_t (*clock_ns)(void))
{
    atomic_store(&replaced_clock, clock_ns);
}

void sx_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t ns)
{
    struct timespec t;

    if (atomic_load_explicit(&replaced_clock, memory_order_relaxed))
        ns = sx_machine_ns() + LOOK_AGAIN_NS;
    t = (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    pthread_cond_timedwait(cond, lock, &t);
}
