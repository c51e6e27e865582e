// LD_PRELOAD shim: std::thread::hardware_concurrency() answers $BENCH_CPUS.
// For libraries with no thread option that size their pools by it.
#include <cstdlib>
#include <thread>

unsigned int std::thread::hardware_concurrency() noexcept {
    const char *cpus = std::getenv("BENCH_CPUS");
    const int n = cpus ? std::atoi(cpus) : 0;
    return n > 0 ? n : 1;
}
