#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope {

// TensorBoard's event files: TFRecords (tensorflow/core/lib/io/record_writer.h) of Event messages
// (tensorflow/core/util/event.proto), of which these write the few fields that scalars need.
//
// A record: u64 length, u32 masked CRC-32C of these eight bytes, the data, u32 masked CRC-32C of the data; all
// little-endian.

// CRC-32C (Castagnoli), of "123456789" 0xe3069283; and as records hold it, rotated by 15 bits plus 0xa282ead8, so that
// the sum of data that hold sums is still a good one.
uint32_t crc32c(std::string_view data);
uint32_t masked_crc32c(std::string_view data);

std::string tf_record(std::string_view data);

// Records of one event each. `wall_time`: seconds since 1970.
std::string file_version_record(double wall_time);  // begins every file
using Scalar = std::pair<std::string, float>;       // tag, value
std::string scalars_record(double wall_time, int64_t step, const std::vector<Scalar>& scalars);
// What was written of `step` and later steps is void: they are done anew.
std::string restart_record(double wall_time, int64_t step);

// "events.out.tfevents.1767312000.host.4711.0", by second, host, process and how many names it was given: a new one
// each time, as TensorBoard wants them.
std::string event_file_name();

}  // namespace shardscope
