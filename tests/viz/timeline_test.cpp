#include <QTest>
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "engine/compile/compile.h"
#include "engine/compile/file_paths.h"
#include "engine/graph/graph.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/hidden_transfers.h"
#include "tests/program/made_instruction.h"
#include "tests/test_program.h"
#include "viz/paint/timeline_colors.h"
#include "viz/paint/timeline_image.h"
#include "viz/paint/timeline_ranks.h"

namespace timeline_test {

using namespace shardscope;
using test::done_of;
using test::instruction_of;

namespace {

constexpr int64_t second = 1'000'000'000;  // in ns

std::vector<TrackSlice> random_slices(std::mt19937& random, int count) {
  std::exponential_distribution<double> length(1);
  std::vector<TrackSlice> slices;
  double at = 0;
  for (int i = 0; i < count; ++i) {
    at += random() % 3 ? 0 : length(random);
    const double end = random() % 50 ? at + length(random) * length(random) : at;
    slices.push_back({at, end, i, static_cast<TimePart>(random() % time_parts)});
    at = end;
  }
  return slices;
}

double inside(const TrackSlice& slice, double begin, double end) {
  return std::max(0.0, std::min(slice.end, end) - std::max(slice.start, begin));
}

// Work, an all-gather over `model`, work, an all-reduce over `data`: on 2 x 2.
Plan four_ranks() {
  Plan plan;
  plan.mesh = Mesh({{"data", 2}, {"model", 2}});
  plan.graph = std::make_shared<Graph>();
  using enum InstructionKind;
  plan.program.tasks = {{"forward",
                         Phase::forward,
                         {instruction_of(compute), instruction_of(all_gather, {1}), done_of(all_gather, 1),
                          instruction_of(compute), instruction_of(all_reduce, {0}), done_of(all_reduce, 4)},
                         {},
                         {}}};
  plan.program.sequences = {make_sequence(Purpose::train_step, {{0}}, plan.program.tasks)};
  plan.instruction_seconds.tasks = {{1, 0.5, 0, 1, 0.25, 0}};
  return plan;
}

// Ranks that wait for each other as they must: each comes to a step when it is done with the one before. A start takes
// no time.
std::vector<std::vector<PlanStepTime>> ranks_that_work(const Plan& plan, const std::vector<int64_t>& work) {
  std::vector<std::vector<PlanStepTime>> times(work.size());
  std::vector<int64_t> now(work.size(), 5 * second);
  const SequenceInstructions steps = plan.instructions();
  for (int position = 0; position < steps.size(); ++position) {
    const AxisList& axes = steps[steps.start_of(position)].axes();
    const bool is_start = is_collective(steps[position].kind()), is_done = steps[position].as<CollectiveDone>();
    std::vector<int64_t> start = now;
    for (int rank = 0; rank < std::ssize(work); ++rank)
      if (is_done)
        for (const int peer : plan.mesh.group(rank, {axes.begin(), axes.end()}))
          start[size_t(rank)] = std::max(start[size_t(rank)], now[size_t(peer)]);
    for (size_t rank = 0; rank < work.size(); ++rank) {
      const int64_t end = start[rank] + (is_start ? 0 : is_done ? second / 10 : work[rank]);
      times[rank].push_back({now[rank], start[rank], end});
      now[rank] = end;
    }
  }
  return times;
}

}  // namespace

class TimelineTest : public QObject {
  Q_OBJECT

 private slots:
  void the_share_of_each_pixel_is_exact_and_its_longest_slice_has_most_of_it() {
    std::mt19937 random(1);
    for (int round = 0; round < 60; ++round) {
      const TimelineTrack track(random_slices(random, 1 + int(random() % 3000)));
      const double begin = track.end() * double(random() % 100) / 150;
      const double end = begin + track.end() * double(1 + random() % 100) / 100;
      const int pixels = 20 + int(random() % 400);
      const std::vector<TrackColumn> columns = track.columns(begin, end, pixels);
      QCOMPARE(int(columns.size()), pixels);
      std::vector<PartSeconds> expected(columns.size());
      std::vector<double> most(columns.size());
      const double width = (end - begin) / pixels;
      for (const TrackSlice& slice : track.slices()) {
        const int from = std::max(0, int((slice.start - begin) / width) - 1);
        const int to = std::min(pixels - 1, int((slice.end - begin) / width) + 1);
        for (int i = from; i <= to; ++i) {
          const double own = inside(slice, begin + i * width, begin + (i + 1) * width);
          expected[size_t(i)][size_t(slice.part)] += own;
          most[size_t(i)] = std::max(most[size_t(i)], own);
        }
      }
      for (size_t i = 0; i < columns.size(); ++i) {
        for (size_t part = 0; part < time_parts; ++part)
          QVERIFY(std::abs(double(columns[i].share[part]) - expected[i][part] / width) < 1e-5);
        const double left = begin + double(i) * width;
        const double longest =
            columns[i].longest < 0 ? 0 : inside(track.slices()[size_t(columns[i].longest)], left, left + width);
        QVERIFY(longest >= most[i] - 1e-9 * width);
      }
    }
  }

  void a_slice_that_is_longer_than_a_pixel_is_the_longest_of_at_least_one() {
    std::mt19937 random(2);
    for (int round = 0; round < 60; ++round) {
      const TimelineTrack track(random_slices(random, 1 + int(random() % 3000)));
      const double begin = track.end() * double(random() % 100) / 150;
      const double end = begin + track.end() * double(1 + random() % 100) / 100;
      const int pixels = 20 + int(random() % 400);
      std::set<int> seen;
      for (const TrackColumn& column : track.columns(begin, end, pixels)) seen.insert(column.longest);
      const double width = (end - begin) / pixels;
      for (int i = 0; i < std::ssize(track.slices()); ++i)
        if (inside(track.slices()[size_t(i)], begin, end) > width * 1.0001) QVERIFY(seen.contains(i));
    }
  }

  void the_longest_of_a_span_has_most_of_it() {
    std::mt19937 random(3);
    const TimelineTrack track(random_slices(random, 20000));
    for (int round = 0; round < 300; ++round) {
      const double begin = track.end() * double(random() % 1000) / 1000;
      const double end = begin + track.end() * std::pow(10.0, -double(random() % 5));
      double most = 0;
      PartSeconds sum{};
      for (const TrackSlice& slice : track.slices()) {
        most = std::max(most, inside(slice, begin, end));
        sum[size_t(slice.part)] += inside(slice, begin, end);
      }
      const std::optional<int> found = track.longest_in(begin, end);
      QCOMPARE(found.has_value(), most > 0);
      if (found) QVERIFY(inside(track.slices()[size_t(*found)], begin, end) > most - 1e-9);
      const PartSeconds reported = track.seconds(begin, end);
      for (size_t part = 0; part < time_parts; ++part) QVERIFY(std::abs(reported[part] - sum[part]) < 1e-6);
    }
  }

  void all_slices_from_a_length_on_are_found_in_order_and_no_others() {
    std::mt19937 random(4);
    for (const int count : {1, 15, 16, 17, 255, 256, 257, 5000, 70000}) {
      const TimelineTrack track(random_slices(random, count));
      const double begin = track.end() * 0.2, end = track.end() * 0.9;
      for (const double least : {0.0, 0.5, 3.0, 20.0}) {
        std::vector<int> expected, found;
        for (int i = 0; i < count; ++i) {
          const TrackSlice& slice = track.slices()[size_t(i)];
          if (slice.end > begin && slice.start < end && slice.end - slice.start >= least) expected.push_back(i);
        }
        track.each_longer(begin, end, least, [&](int i) { found.push_back(i); });
        QCOMPARE(found, expected);
      }
    }
  }

  void what_overlaps_is_cut_and_nothing_is_counted_twice() {
    const TimelineTrack track(
        {{0, 2, 0, TimePart::work}, {1, 3, 1, TimePart::transfer}, {1.5, 2.5, 2, TimePart::work}});
    QCOMPARE(track.slices()[1].start, 2.0);
    QCOMPARE(track.end(), 3.0);
    QCOMPARE(track.seconds(0, 10), (PartSeconds{2, 1, 0}));
    QVERIFY(TimelineTrack().columns(0, 1, 10).front().longest == -1);
    QVERIFY(!TimelineTrack().longest_in(0, 1));
  }

  void each_rank_has_each_step_when_it_was_done_with_waiting_apart() {
    const Plan plan = four_ranks();
    const std::vector<std::vector<PlanStepTime>> times =
        ranks_that_work(plan, {second, second, 2 * second, 3 * second});
    const std::optional<MeasuredStep> measured = measured_step(plan, times);
    QVERIFY(measured);
    QCOMPARE(measured->ranks.size(), size_t{4});
    const double all = 3 + 0.1 + 3 + 0.1;
    QVERIFY(std::abs(measured->seconds - all) < 1e-9);
    double waited = 0;
    for (int rank = 0; rank < 4; ++rank)
      waited += measured->ranks[size_t(rank)].track.end() - (rank < 2 ? 2 : 2.0 * rank) - 0.2;
    QVERIFY(waited > 1);
    QVERIFY(std::abs(measured->exposed().waiting - waited / (4 * all)) < 1e-9);
    QVERIFY(std::abs(measured->exposed().transfer - 4 * 0.2 / (4 * all)) < 1e-9);
    QCOMPARE(measured->exposed().all(), measured->exposed().waiting + measured->exposed().transfer);
    QCOMPARE(MeasuredStep().exposed().all(), 0.0);
    for (int rank = 0; rank < 4; ++rank) {
      const TimelineTrack& track = measured->ranks[size_t(rank)].track;
      const PartSeconds sum = track.seconds(0, all);
      const double work = rank < 2 ? 2 : 2.0 * rank;
      QVERIFY(std::abs(sum[size_t(TimePart::work)] - work) < 1e-9);
      QVERIFY(std::abs(sum[size_t(TimePart::transfer)] - 0.2) < 1e-9);
      const double end = track.end();
      QVERIFY(std::abs(sum[size_t(TimePart::waiting)] - (end - work - 0.2)) < 1e-9);
      for (int position = 0; position < 6; ++position) {
        const auto [first, last] = track.slices_of(position);
        QVERIFY(last > first);
        const PlanStepTime& time = times[size_t(rank)][size_t(position)];
        QVERIFY(std::abs(track.slices()[size_t(first)].start - double(time.arrive_ns - 5 * second) * 1e-9) < 1e-9);
        QVERIFY(std::abs(track.slices()[size_t(last) - 1].end - double(time.end_ns - 5 * second) * 1e-9) < 1e-9);
      }
    }
    QVERIFY(!measured_step(plan, std::vector<std::vector<PlanStepTime>>{{}}));
    QVERIFY(!measured_step(plan, std::vector<std::vector<PlanStepTime>>{{times[0][0]}}));
    QVERIFY(!measured_step(plan, std::vector<std::vector<PlanStepTime>>()));
  }

  void all_waiting_is_owed_to_the_rank_that_came_last() {
    const Plan plan = four_ranks();
    std::mt19937 random(5);
    for (int late = 0; late < 4; ++late) {
      std::vector<int64_t> work(4, second);
      work[size_t(late)] = 4 * second;
      const std::vector<std::vector<PlanStepTime>> times = ranks_that_work(plan, work);
      const std::optional<MeasuredStep> measured = measured_step(plan, times);
      QVERIFY(measured);
      QCOMPARE(measured->late_rank(), late);
      double delays = 0;
      for (const RankTimeline& rank : measured->ranks) delays += rank.delayed_others;
      QVERIFY(std::abs(delays - measured->waited) < 1e-9);
      for (int rank = 0; rank < 4; ++rank) {
        const std::optional<Meeting> met = meeting_of(plan, times, rank, 1 + rank % 2);  // start, done
        QVERIFY(met);
        QCOMPARE(met->ranks.size(), size_t{2});
        const bool has_late = std::ranges::count(met->ranks, late) > 0;
        if (has_late) QCOMPARE(met->last, late);
        QVERIFY(std::abs(met->spread - (has_late ? 3 : 0)) < 1e-9);
        QVERIFY(std::abs(met->waited - (has_late ? 3 : 0)) < 1e-9);
        QVERIFY(std::abs(met->transfer - 0.1) < 1e-9);
      }
      QVERIFY(!meeting_of(plan, times, 0, 0) && !meeting_of(plan, times, 7, 1) && !meeting_of(plan, times, 0, 9));
      const std::vector<int> shown = measured->extremes();
      QVERIFY(shown.size() == 2 && std::ranges::count(shown, late) == 1);
    }
  }

  void ranks_of_hosts_whose_clocks_differ_are_not_compared() {
    Plan plan = four_ranks();
    plan.ranks_per_host = {2, 2};
    const std::vector<std::vector<PlanStepTime>> times =
        ranks_that_work(plan, {second, second, 2 * second, 3 * second});
    QVERIFY(meeting_of(plan, times, 0, 1));   // over model: within a host
    QVERIFY(!meeting_of(plan, times, 0, 4));  // over data: between hosts
  }

  void the_predicted_step_has_its_steps_one_after_the_other_and_its_phases() {
    Plan plan = four_ranks();
    plan.program.tasks.push_back({"update", Phase::update, {instruction_of(InstructionKind::compute)}, {}, {}});
    plan.program.tasks.back().instructions[0].phase = Phase::update;
    plan.instruction_seconds.tasks.push_back({2});
    plan.program.sequences = {make_sequence(Purpose::train_step, {{0}, {1}}, plan.program.tasks)};
    plan.simulation = simulate(plan.program, *plan.graph, plan.mesh, Purpose::train_step, plan.instruction_seconds);
    const PredictedStep predicted = predicted_steps(plan).front();
    QCOMPARE(predicted.seconds, 4.75);
    QCOMPARE(predicted.track.slices().size(), size_t{5});
    QCOMPARE(predicted.phases.size(), size_t{2});
    QCOMPARE(predicted.phases[1].start, 2.75);
    QCOMPARE(predicted.track.seconds(0, 5), (PartSeconds{4, 0.75, 0}));
  }

  void a_transfer_is_exposed_while_the_stage_waits_for_collectives_and_hidden_while_it_works() {
    const Machine two_hosts = with_hosts(reference_host(), {2, 2});
    RunConfig config = load_run_file(SHARDSCOPE_SOURCE_DIR "/presets/tiny_lm_fsdp.json");
    config.mesh_axes[0].size = 4;
    const Plan plan = compile({config, two_hosts});
    const Simulation::Communication& reported = plan.simulation.communication.at(0);
    QVERIFY(reported.hidden > 0 && reported.exposed > 0);
    const PredictedStep predicted = predicted_steps(plan).front();
    QCOMPARE(predicted.streams.size(), size_t{1});
    const TimelineTrack& stream = predicted.streams.front().track;
    const PartSeconds sum = stream.seconds(0, predicted.seconds);
    QVERIFY(std::abs(sum[size_t(TimePart::hidden)] - reported.hidden) < 1e-9 * predicted.seconds);
    QVERIFY(std::abs(sum[size_t(TimePart::transfer)] - reported.exposed) < 1e-9 * predicted.seconds);
    for (const TrackSlice& slice : stream.slices()) {
      const double waited = predicted.track.seconds(slice.start, slice.end)[size_t(TimePart::transfer)];
      const double expected = slice.part == TimePart::transfer ? slice.end - slice.start : 0;
      QVERIFY(std::abs(waited - expected) < 1e-9 * predicted.seconds);
    }
  }

  // Of Megatron tensor parallelism within a host, which computation waits for, and data parallelism over the cards.
  void each_level_of_a_machine_has_a_lane_with_its_name_also_where_nothing_is_hidden() {
    RunConfig config = load_run_file(SHARDSCOPE_SOURCE_DIR "/presets/llama_tiny.json");
    config.mesh_axes = {{"data", 2}, {"model", 8}};
    config.sharding.mode = LayoutMode::as_written;
    config.machine = machine_choice("dgx_h100");
    using Names = std::vector<std::string>;
    for (const auto& [stack, expected] : {std::pair("shardscope", Names{"nvlink", "infiniband"}),
                                          {"megatron", Names{"nvlink (blocking)", "infiniband"}}}) {
      config.stack = '"' + std::string(stack) + '"';
      const Plan plan = compile(plan_request(config));
      const PredictedStep predicted = predicted_steps(plan).front();
      std::vector<std::string> names;
      double exposed = 0;
      for (const PredictedStep::Stream& lane : predicted.streams) {
        names.push_back(lane.name);
        exposed += lane.track.seconds(0, predicted.seconds)[size_t(TimePart::transfer)];
      }
      QCOMPARE(names, expected);
      QVERIFY(std::abs(exposed - plan.simulation.communication[0].exposed) < 1e-9 * predicted.seconds);
    }
  }

  void every_transfer_is_on_the_lanes_for_as_long_as_it_takes_also_behind_passes() {
    bool hides = false;
    for (const char* preset :
         {"llama_tiny", "mixtral_tiny", "workshop_gpipe", "workshop_interleaved", "tiny_lm_fsdp"}) {
      for (const char* stack : {"megatron", "torchtitan", "shardscope"}) {
        RunConfig config = load_run_file(SHARDSCOPE_SOURCE_DIR "/presets/" + std::string(preset) + ".json");
        config.sharding.mode = LayoutMode::as_written;
        config.machine = machine_choice("dgx_h100");
        config.stack = '"' + std::string(stack) + '"';
        const Plan plan = compile(plan_request(config));
        const std::vector<PredictedStep> steps = predicted_steps(plan);
        for (int stage = 0; stage < plan.program.stages; ++stage) {
          std::map<int, double> all, drawn;
          for (const HiddenTransfer& transfer : transfers_behind_passes(plan, stage))
            all[transfer.position] += transfer.span.end - transfer.span.start;
          for (const TransferSpan& transfer : plan.simulation.transfers[size_t(stage)])
            all[transfer.position] += transfer.span.end - transfer.span.start;
          for (const PredictedStep::Stream& lane : steps[size_t(stage)].streams) {
            const PartSeconds sum = lane.track.seconds(0, lane.track.end());
            QCOMPARE(lane.is_behind_passes, lane.name.ends_with(" (behind passes)"));
            QVERIFY(!lane.is_behind_passes || sum[size_t(TimePart::transfer)] == 0);
            for (const TrackSlice& slice : lane.track.slices()) drawn[slice.step] += slice.end - slice.start;
            const int step = lane.track.slices().empty() ? -1 : lane.track.slices().front().step;
            double found = 0, expected = 0;
            for (auto [first, last] = lane.track.slices_of(step); first < last;
                 std::tie(first, last) = lane.track.slices_of(step, last))
              for (int i = first; i < last; ++i) {
                const TrackSlice& slice = lane.track.slices()[size_t(i)];
                QCOMPARE(slice.step, step);
                found += slice.end - slice.start;
              }
            for (const TrackSlice& slice : lane.track.slices())
              if (slice.step == step) expected += slice.end - slice.start;
            QCOMPARE(found, expected);
          }
          double left_out = 0;  // of a lane that would look empty
          for (const auto& [position, seconds] : all) {
            left_out += drawn.contains(position) ? 0 : seconds;
            if (drawn.contains(position))
              QVERIFY(std::abs(drawn[position] - seconds) <= 1e-9 * plan.simulation.seconds);
          }
          QVERIFY(left_out <= 1e-5 * plan.simulation.seconds);
          hides |=
              plan.simulation.communication[size_t(stage)].hidden > 0 && !transfers_behind_passes(plan, stage).empty();
        }
      }
    }
    QVERIFY(hides);
  }

  void every_step_has_a_colour_of_the_legend_and_the_legend_has_all_the_time() {
    const Plan plan = four_ranks();
    for (const Theme* theme : {&light_theme(), &dark_theme()})
      for (const TimelineColoring coloring : {TimelineColoring::kind, TimelineColoring::layer}) {
        const TimelineColors colors = timeline_colors(plan, coloring, *theme);
        QCOMPARE(colors.of_stage.size(), size_t{1});
        QCOMPARE(int(colors.of_stage[0].size()), plan.instructions().size());
        double all = 0;
        std::set<QRgb> known;
        for (const TimelineColor& color : colors.legend) {
          all += color.seconds;
          known.insert(color.color.rgb());
        }
        QCOMPARE(all, 2.75);
        QCOMPARE(known.size(), colors.legend.size());
        for (const QRgb color : colors.of_stage[0]) QVERIFY(known.contains(color));
        QCOMPARE(std::ranges::count_if(colors.legend, &TimelineColor::is_moving), std::ptrdiff_t{2});
      }
  }

  void a_picture_has_each_colour_by_its_share_and_waiting_only_below() {
    const std::vector<QRgb> of_step{qRgb(200, 0, 0), qRgb(0, 200, 0)};
    const TrackInk ink{of_step,         qRgb(0, 0, 0), qRgb(100, 100, 100), qRgb(100, 100, 100),
                       qRgb(0, 0, 200), qRgb(1, 2, 3)};
    const TimelineTrack track({{0, 10, 0, TimePart::work},
                               {10, 20, 1, TimePart::waiting},
                               {20, 30, 1, TimePart::transfer},
                               {30, 30.5, 0, TimePart::work}});
    QImage image(40, 10, QImage::Format_RGB32);
    image.fill(Qt::white);
    paint_track(image, image.rect(), track, 0, 40, ink);
    QCOMPARE(image.pixel(5, 1), of_step[0]);
    QCOMPARE(image.pixel(5, 9), of_step[0]);
    QCOMPARE(image.pixel(10, 1), ink.arrival);
    QCOMPARE(image.pixel(15, 1), ink.background);
    QCOMPARE(image.pixel(15, 9), ink.waiting);
    QCOMPARE(image.pixel(25, 1), of_step[1]);
    QCOMPARE(image.pixel(30, 1), qRgb(100, 0, 0));  // half a pixel
    QCOMPARE(image.pixel(35, 1), ink.background);
    const TimelineTrack hidden({{0, 20, 1, TimePart::hidden}, {20, 40, 1, TimePart::transfer}});
    paint_track(image, image.rect(), hidden, 0, 40, ink);
    QCOMPARE(image.pixel(5, 1), qRgb(0, static_cast<int>(std::lround(200 * pale)), 0));
    QCOMPARE(image.pixel(25, 1), of_step[1]);
    paint_track(image, image.rect(), track, 0, 40, ink);
    paint_track(image, QRect(-20, 2, 40, 4), track, 0, 40, ink);  // what is beyond the picture is not painted
    QCOMPARE(image.pixel(5, 2), of_step[1]);
  }

  void what_is_exposed_for_less_than_a_pixel_is_as_high_as_its_share_in_its_own_colour() {
    const std::vector<QRgb> of_step{qRgb(200, 0, 0), qRgb(0, 200, 0)};
    const TrackInk ink{of_step,         qRgb(0, 0, 0), qRgb(100, 100, 100), qRgb(100, 100, 100),
                       qRgb(0, 0, 200), qRgb(1, 2, 3)};
    const TimelineTrack track({{0.2, 0.9, 1, TimePart::transfer},
                               {1.2, 1.3, 0, TimePart::hidden},
                               {1.3, 1.32, 1, TimePart::transfer},
                               {2, 3, 1, TimePart::transfer},
                               {3, 4, 0, TimePart::hidden}});
    QImage image(4, 20, QImage::Format_RGB32);
    paint_track(image, image.rect(), track, 0, 4, ink);
    const auto height = [&](int x, QRgb color) {
      int pixels = 0;
      while (pixels < image.height() && image.pixel(x, image.height() - 1 - pixels) == color) ++pixels;
      return pixels;
    };
    QCOMPARE(height(0, of_step[1]), 14);
    QCOMPARE(image.pixel(0, 0), ink.background);
    QCOMPARE(height(1, ink.transfer), 2);
    QCOMPARE(height(2, of_step[1]), 20);
    QCOMPARE(height(3, qRgb(static_cast<int>(std::lround(200 * pale)), 0, 0)), 20);
  }
};

REGISTER_TEST(TimelineTest)

}  // namespace timeline_test

#include "timeline_test.moc"
