#include <QTest>
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>

#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/machine/host_machine.h"
#include "tests/test_program.h"
#include "viz/paint/memory_curve.h"
#include "viz/paint/memory_track.h"

namespace memory_curve_test {

using namespace shardscope;

// Laws of what is in use through a step, on the plans of presets and of small pipelines.
class MemoryCurveTest : public QObject {
  Q_OBJECT

  static RunConfig preset(const char* name) {
    return load_run_config(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets" / (std::string(name) + ".json"));
  }

  static RunConfig small(int64_t microbatches, const char* rematerialise) {
    RunConfig config = preset("nnx_gpt2");
    for (auto& [name, value] : config.model.options) {
      if (name == "num_layers") value = int64_t{4};
      if (name == "embed_dim") value = int64_t{32};
      if (name == "ff_dim") value = int64_t{64};
      if (name == "num_heads") value = int64_t{2};
    }
    config.mesh_axes = {{"batch", 2}, {"model", 2}};
    config.schedule.microbatches = microbatches;
    config.schedule.rematerialise = rematerialise;
    return config;
  }

  static RunConfig piped(const char* schedule) {
    RunConfig config = small(4, "none");
    config.mesh_axes = {{"batch", 1}, {"model", 2}, {"pipeline", 2}};
    config.pipeline = {"pipeline", schedule, std::string(schedule) == "interleaved" ? 2 : 1, {}};
    return config;
  }

  static const std::vector<Plan>& plans() {
    static const std::vector<Plan> all = [] {
      std::vector<Plan> made;
      for (const RunConfig& config : {preset("parallax_decoder"), preset("mintext_transformer"), preset("workshop_tp"),
                                      preset("workshop_1f1b"), small(1, "none"), small(4, "none"), small(4, "full"),
                                      piped("gpipe"), piped("1f1b"), piped("interleaved"), piped("zero_bubble")})
        made.push_back(compile({config, standard_host()}));
      return made;
    }();
    return all;
  }

  template <class Check>
  static void for_each_stage(const Check& check) {
    for (const Plan& plan : plans())
      for (int stage = 0; stage < plan.program.stages; ++stage) check(plan, stage, memory_curve(plan, stage));
  }

  static int64_t sum(const CategoryBytes& bytes) { return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}); }

 private slots:
  void it_has_every_position_of_the_unfolded_sequence() {
    int longer = 0;
    for_each_stage([&](const Plan& plan, int stage, const MemoryCurve& curve) {
      const Sequence& sequence = plan.program.main(stage);
      QCOMPARE(std::ssize(curve.bytes), qsizetype(sequence.length));
      for (size_t p = 0; p < curve.bytes.size(); ++p) QCOMPARE(sum(curve.bytes[p]), curve.totals[p]);
      longer += sequence.length > folded_length(sequence);
    });
    QVERIFY(longer > 4);
  }

  void nowhere_is_more_in_use_than_the_plan_reserves_there() {
    for_each_stage([](const Plan& plan, int stage, const MemoryCurve& curve) {
      const std::vector<CategoryBytes> reserved = live_bytes(plan.arenas[stage]);
      const Sequence& sequence = plan.program.main(stage);
      for (int p = 0; p < sequence.length; ++p)
        for (int c = 0; c < memory_category_count; ++c) QVERIFY(curve.bytes[p][c] <= reserved[folded(sequence, p)][c]);
    });
  }

  void without_overlapping_microbatches_it_is_what_the_plan_reserves() {
    int compared = 0;
    for_each_stage([&](const Plan& plan, int stage, const MemoryCurve& curve) {
      const Sequence& sequence = plan.program.main(stage);
      if (sequence.length > folded_length(sequence)) return;
      QCOMPARE(curve.bytes, live_bytes(plan.arenas[stage]));
      ++compared;
    });
    QVERIFY(compared >= 4);
  }

  void the_peak_is_the_first_of_the_highest_and_needs_no_more_than_the_arena() {
    for_each_stage([](const Plan& plan, int stage, const MemoryCurve& curve) {
      const auto highest = std::ranges::max_element(curve.totals);
      QCOMPARE(qsizetype(curve.peak), highest - curve.totals.begin());
      QVERIFY(*highest <= plan.pipeline.totals[stage].live_lower_bound);
      QVERIFY(*highest > 0);
    });
  }

  void what_a_step_reads_or_makes_is_in_use_at_it() {
    for_each_stage([](const Plan& plan, int stage, const MemoryCurve& curve) {
      const ArenaLayout& arena = plan.arenas[stage];
      std::vector<std::vector<const SlotUse*>> uses(arena.buffers.size());
      for (const SlotUse& use : curve.uses) uses[use.buffer].push_back(&use);
      int position = 0;
      for (const Instruction& instruction : plan.instructions(stage)) {
        for (const std::span<const int> values : {instruction.operands(), instruction.results()})
          for (const int value : values) {
            const auto covers = [&](const SlotUse* use) { return use->first <= position && position <= use->last; };
            QVERIFY2(std::ranges::any_of(uses[arena.buffer_of[value]], covers),
                     plan.instruction_name(instruction).c_str());
          }
        ++position;
      }
    });
  }

  void the_largest_at_a_position_add_up_to_what_is_in_use() {
    for_each_stage([](const Plan& plan, int stage, const MemoryCurve& curve) {
      const ArenaLayout& arena = plan.arenas[stage];
      for (const int position : {0, curve.peak, int(curve.totals.size()) / 2}) {
        const std::vector<BufferUse> all = largest_in_use(curve, arena, position, arena.buffers.size());
        int64_t bytes = 0;
        for (const BufferUse& use : all) {
          bytes += use.bytes;
          QVERIFY(use.held >= 1 && use.held <= arena.buffers[use.buffer].slot_count);
        }
        QCOMPARE(bytes, curve.totals[position]);
        const std::vector<BufferUse> ten = largest_in_use(curve, arena, position, 10);
        QVERIFY(ten.size() <= 10 && std::ranges::is_sorted(ten, std::ranges::greater(), &BufferUse::bytes));
        for (size_t i = 0; i < ten.size(); ++i) QCOMPARE(ten[i].buffer, all[i].buffer);
      }
    });
  }

  void phases_cover_every_position_once_and_say_what_its_step_is_part_of() {
    bool recomputes = false;
    for_each_stage([&](const Plan& plan, int stage, const MemoryCurve& curve) {
      int position = 0;
      for (const PhaseRange& span : curve.phases) {
        QCOMPARE(span.first, position);
        const TaskRun& run = plan.program.main(stage).runs[span.run];
        for (; position <= span.last; ++position) {
          QCOMPARE(plan.instructions(stage)[position].phase, span.phase);
          QCOMPARE(run_at(plan.program.main(stage), position).first, run.first);
        }
        recomputes |= span.phase == Phase::recompute;
      }
      QCOMPARE(position, plan.program.main(stage).length);
    });
    QVERIFY(recomputes);
  }

  void in_1f1b_a_stage_fills_up_and_then_keeps_as_many_microbatches_as_it_has_in_flight() {
    const Plan plan = compile({piped("1f1b"), standard_host()});
    for (int stage = 0; stage < 2; ++stage) {
      const MemoryCurve curve = memory_curve(plan, stage);
      int most = 0;
      const ArenaLayout& arena = plan.arenas[stage];
      for (const BufferUse& use : largest_in_use(curve, arena, curve.peak, arena.buffers.size()))
        if (arena.buffers[use.buffer].category == MemoryCategory::activations && !arena.buffers[use.buffer].persistent)
          most = std::max(most, use.held);
      QCOMPARE(most, plan.pipeline.in_flight[stage]);
    }
  }

  void as_a_stack_holds_it_the_peak_is_what_the_plan_says_of_the_stack() {
    int alone = 0, overlapping = 0;
    for (const char* stack : {"megatron", "torchtitan", "nanotron", "maxtext"}) {
      for (RunConfig config : {preset("parallax_decoder"), small(1, "none"), small(4, "full"), piped("1f1b"),
                               piped("interleaved"), piped("zero_bubble")}) {
        config.machine = R"({"name": "dgx_h100"})";
        config.stack = '"' + std::string(stack) + '"';
        const Plan plan = compile(plan_request(config));
        for (int stage = 0; stage < plan.program.stages; ++stage) {
          const PlanTotals& totals = plan.pipeline.totals[stage];
          const MemoryCurve curve = memory_curve(plan, stage);
          const Sequence& sequence = plan.program.main(stage);
          QCOMPARE(std::ssize(curve.totals), qsizetype(sequence.length));
          const int64_t peak = curve.totals[curve.peak], held = totals.device_bytes - totals.allocator_bytes;
          const ArenaLayout& arrays = arena_of(curve, plan, stage);
          QCOMPARE(arrays.bytes, totals.device_bytes);
          int64_t largest = 0;
          for (const BufferUse& use : largest_in_use(curve, arrays, curve.peak, arrays.buffers.size()))
            largest += use.bytes;
          QCOMPARE(largest, peak);
          QCOMPARE(std::ranges::max(curve.totals), peak);
          QVERIFY2(peak <= held, qPrintable(QString("%1 stage %2: %3 of %4")
                                                .arg(QString::fromStdString(config.stack + config.pipeline.schedule))
                                                .arg(stage)
                                                .arg(peak)
                                                .arg(held)));
          if (sequence.length == folded_length(sequence)) {
            QCOMPARE(curve.bytes[curve.peak], totals.device_memory);
            ++alone;
          } else {
            QVERIFY2(double(peak) > 0.8 * double(held), qPrintable(QString("%1 of %2").arg(peak).arg(held)));
            ++overlapping;
          }
        }
      }
    }
    QVERIFY(alone >= 4 && overlapping >= 8);
  }

  void no_column_of_the_picture_loses_a_peak() {
    for_each_stage([](const Plan&, int, const MemoryCurve& curve) {
      const double length = double(curve.totals.size());
      for (const auto& [begin, end] :
           {std::pair(0.0, length), std::pair(length * 0.3, length * 0.31), std::pair(length - 1.5, length)})
        for (const int pixels : {1, 7, 500}) {
          const std::vector<int> peaks = column_peaks(curve.totals, begin, end, pixels);
          QCOMPARE(std::ssize(peaks), qsizetype(pixels));
          int64_t drawn = 0, highest = 0;
          for (const int position : peaks) drawn = std::max(drawn, curve.totals[position]);
          for (int p = int(begin); p < int(std::ceil(end)); ++p) highest = std::max(highest, curve.totals[p]);
          QCOMPARE(drawn, highest);
        }
    });
  }

  // Over time in place of instructions nothing is lost: each column has the most of all that runs in it, and what was
  // held last where nothing does.
  void each_column_of_a_track_has_the_most_that_is_in_use_in_its_time() {
    std::mt19937 random(4);
    for (const Plan& plan : plans()) {
      const std::vector<MemoryTrack> tracks = memory_tracks(plan);
      QCOMPARE(int(tracks.size()), plan.program.stages);
      for (int stage = 0; stage < plan.program.stages; ++stage) {
        const std::vector<int64_t> totals = memory_curve(plan, stage).totals;
        const std::vector<Simulation::Span>& spans = plan.simulation.stages[size_t(stage)];
        const MemoryTrack& track = tracks[size_t(stage)];
        QCOMPARE(track.held(), plan.arenas[size_t(stage)].bytes);
        const std::vector<int64_t> whole = track.columns(0, plan.simulation.seconds, 1 + int(random() % 500));
        QCOMPARE(std::ranges::max(whole), std::ranges::max(totals));
        for (int round = 0; round < 20; ++round) {
          const double begin = plan.simulation.seconds * double(random() % 1000) / 1000;
          const double end = begin + plan.simulation.seconds * double(1 + random() % 1000) / 1e5;
          const std::vector<int64_t> column = track.columns(begin, end, 1);
          int64_t most = track.at(begin);
          for (size_t position = 0; position < spans.size(); ++position)
            if (begin < spans[position].start && spans[position].start < end) most = std::max(most, totals[position]);
          QCOMPARE(column.front(), most);
        }
        QCOMPARE(track.at(plan.simulation.seconds + 1), totals.back());
      }
    }
  }
};

REGISTER_TEST(MemoryCurveTest)

}  // namespace memory_curve_test

#include "memory_curve_test.moc"
