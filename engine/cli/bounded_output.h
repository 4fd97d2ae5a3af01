#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace shardscope {

// What a BoundedOutput could not write. `error` is that of the write that failed; 0: its reader was too slow.
struct OutputLoss {
  int64_t lines = 0;
  int64_t bytes = 0;
  int error = 0;
};

// A descriptor (standard output or error, a pipe) written to by a thread of its own, so that a reader that is slow,
// stopped or gone never makes the writer wait: what the reader has not taken yet is held, up to `capacity` bytes, and
// what comes beyond that is dropped, whole texts at a time, and counted. Texts come out in the order in which they went
// in. A closed pipe is an error of this output, not a signal.
//
//   BoundedOutput output(STDOUT_FILENO);
//   output.put("Epoch 0: Loss = 7.5672\n");            // from any thread; at once
//   if (output.error() == EPIPE) ...                   // nobody reads any more
//   const OutputLoss loss = output.finish();           // waits for the reader, with patience
//   if (loss.bytes > 0) ... loss_text("standard output", loss)
class BoundedOutput {
 public:
  explicit BoundedOutput(int descriptor, size_t capacity = size_t{1} << 20);
  ~BoundedOutput();  // what is still held is written only if that needs no waiting
  BoundedOutput(const BoundedOutput&) = delete;
  BoundedOutput& operator=(const BoundedOutput&) = delete;

  void put(std::string_view text);

  // errno of the first write that failed; 0: it can be written. All that comes after a failure is dropped.
  int error() const;
  OutputLoss loss() const;

  // Waits until all is written, but not longer than `patience` after the reader last took something; then nothing more
  // is written. Gives all that was lost.
  OutputLoss finish(std::chrono::milliseconds patience = std::chrono::seconds(10));

 private:
  struct Shared;
  static void write_on(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

// "standard output: 12 lines (3456 bytes) were not written: its reader was too slow".
std::string loss_text(const std::string& name, const OutputLoss& loss);

}  // namespace shardscope
