// Threads made per call, so that fork stays safe, and joined before the call returns. The calling
// thread only waits and polls, so Ctrl-C is heard while the others work.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace kesler {

// Calls body(begin, end) over blocks that cover 0..n on `n_threads` threads; poll() is asked every
// 50 ms and returns false to stop. Returns whether all blocks were done. Which thread takes which
// block changes no result: blocks write to places of their own.
template <class Body, class Poll>
bool over_blocks(std::int64_t n, std::int64_t block, int n_threads, Body body, Poll poll) {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex mutex;
  std::condition_variable finished;
  int running = 0;

  const auto work = [&] {
    try {
      for (std::int64_t begin = next.fetch_add(block); begin < n && !stop;
           begin = next.fetch_add(block))
        body(begin, begin + block < n ? begin + block : n);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
    const std::lock_guard lock(mutex);
    if (--running == 0) finished.notify_one();
  };

  if (n <= block) {  // not worth a thread
    if (n > 0) body(0, n);
    return true;
  }
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex);
    const std::int64_t blocks = (n + block - 1) / block;
    const int wanted = static_cast<int>(blocks < n_threads ? blocks : n_threads);
    for (int t = 0; t < wanted; ++t) {
      try {
        threads.emplace_back(work);
      } catch (const std::system_error&) {
        if (threads.empty()) throw;
        break;  // fewer threads than asked, the same result
      }
      ++running;
    }
  }
  {
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, std::chrono::milliseconds(50), [&] { return running == 0; })) {
      lock.unlock();
      if (!poll()) stop = true;
      lock.lock();
    }
  }
  for (auto& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return !stop;
}

// Where `n` threads wait for each other, many times a millisecond: they spin, and give way only
// when the others are long in coming.
class Barrier {
 public:
  explicit Barrier(int n) : n_(n) {}

  void wait() {
    const std::uint64_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == n_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    constexpr int kSpins = 1 << 12;
    for (int spin = 0; round_.load(std::memory_order_acquire) == round; ++spin)
      if (spin >= kSpins) std::this_thread::yield();
  }

 private:
  const int n_;
  std::atomic<int> arrived_{0};
  std::atomic<std::uint64_t> round_{0};
};

}  // namespace kesler
