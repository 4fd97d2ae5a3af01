#include <QSet>
#include <QTest>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "engine/base/units.h"
#include "engine/mesh/partition_spec.h"
#include "tests/test_program.h"
#include "viz/paint/curve.h"
#include "viz/paint/layout_geometry.h"
#include "viz/paint/memory_geometry.h"
#include "viz/paint/mesh_geometry.h"
#include "viz/paint/palette.h"
#include "viz/paint/ticks.h"
#include "viz/paint/timeline_geometry.h"

namespace geometry_test {

using namespace shardscope;

class GeometryTest : public QObject {
  Q_OBJECT

  struct Case {
    Mesh mesh;
    Shape shape;
    Sharding sharding;
  };

  static Case random_case(std::mt19937& random) {
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::vector<MeshAxis> axes;
    const int axis_count = 1 + pick(3);
    for (int i = 0; i < axis_count; ++i) axes.push_back({std::string(1, char('a' + i)), 1 + pick(4)});
    const Mesh mesh(axes);
    const int rank = pick(5);
    Sharding sharding = Sharding::replicated(rank);
    Shape shape(static_cast<size_t>(rank), 1);
    for (int axis = 0; rank > 0 && axis < axis_count; ++axis)
      if (pick(3)) sharding.dims[static_cast<size_t>(pick(rank))].push_back(static_cast<AxisIndex>(axis));
    for (int d = 0; d < rank; ++d) shape[static_cast<size_t>(d)] = shard_count(sharding, mesh, d) * (1 + pick(9));
    return {mesh, shape, sharding};
  }

 private slots:
  void shards_tile_the_picture_and_every_device_is_in_exactly_one() {
    std::mt19937 random(1);
    for (int round = 0; round < 500; ++round) {
      const Case test = random_case(random);
      const LayoutPicture picture = lay_out(test.shape, test.sharding, test.mesh);
      double area = 0;
      std::vector<int> seen(static_cast<size_t>(test.mesh.device_count()), 0);
      for (size_t i = 0; i < picture.cells.size(); ++i) {
        const ShardCell& cell = picture.cells[i];
        area += cell.place.width * cell.place.height;
        const double x = cell.place.x + cell.place.width / 2, y = cell.place.y + cell.place.height / 2;
        QCOMPARE(cell_at(picture, x, y), std::optional<int>(static_cast<int>(i)));
        QCOMPARE(cell.devices, replicas(test.sharding, test.mesh, test.shape, cell.devices.front()));
        for (int device : cell.devices) {
          ++seen[static_cast<size_t>(device)];
          QCOMPARE(cell_of_device(picture, device), std::optional<int>(static_cast<int>(i)));
          QVERIFY(cell.box == shard_box(test.sharding, test.mesh, test.shape, device));
        }
      }
      double pages = picture.pages.empty() ? 1 : 0;
      for (const ArrayPage& page : picture.pages) pages += page.place.width * page.place.height;
      QVERIFY(std::abs(area - pages) < 1e-9);
      QVERIFY(std::ranges::all_of(seen, [](int times) { return times == 1; }));
    }
  }

  void a_matrix_is_drawn_where_its_elements_lie() {
    std::mt19937 random(2);
    for (int round = 0; round < 500; ++round) {
      const Case test = random_case(random);
      if (test.shape.size() != 2) continue;
      for (const ShardCell& cell : lay_out(test.shape, test.sharding, test.mesh).cells) {
        QVERIFY(std::abs(cell.place.y * double(test.shape[0]) - double(cell.box.start[0])) < 1e-6);
        QVERIFY(std::abs(cell.place.x * double(test.shape[1]) - double(cell.box.start[1])) < 1e-6);
        QVERIFY(std::abs(cell.place.height * double(test.shape[0]) - double(cell.box.size[0])) < 1e-6);
        QVERIFY(std::abs(cell.place.width * double(test.shape[1]) - double(cell.box.size[1])) < 1e-6);
      }
    }
  }

  void the_drawing_has_the_arrays_aspect_or_says_that_it_has_not() {
    const Mesh mesh({{"a", 1}});
    const LayoutPicture fair = lay_out({256, 512}, Sharding::replicated(2), mesh);
    QVERIFY(fair.to_scale);
    QCOMPARE(fair.aspect, 2.0);
    const LayoutPicture flat = lay_out({1, 5000}, Sharding::replicated(2), mesh);
    QVERIFY(!flat.to_scale);
    QCOMPARE(flat.aspect, LayoutPicture::widest);
    const LayoutPicture heads = lay_out({512, 8, 64}, Sharding::replicated(3), mesh);
    QCOMPARE(heads.row_dims, std::vector<int>({1}));
    QCOMPARE(heads.aspect, 8.0);
  }

  void devices_of_a_mesh_do_not_overlap_and_are_found_where_they_are() {
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
      const Mesh mesh = random_case(random).mesh;
      const MeshPicture picture = lay_out(mesh);
      QCOMPARE(static_cast<int>(picture.cells.size()), mesh.device_count());
      for (const MeshCell& cell : picture.cells) {
        QVERIFY(cell.place.x >= 0 && cell.place.right() <= picture.width + 1e-9);
        QVERIFY(cell.place.y >= 0 && cell.place.bottom() <= picture.height + 1e-9);
        QCOMPARE(device_at(picture, cell.place.x + 0.01, cell.place.y + 0.01), std::optional<int>(cell.device));
        QCOMPARE(device_at(picture, cell.place.right() - 0.01, cell.place.bottom() - 0.01),
                 std::optional<int>(cell.device));
      }
    }
  }

  void the_tones_of_a_shard_are_those_its_devices_share() {
    std::mt19937 random(4);
    for (int round = 0; round < 300; ++round) {
      const Case test = random_case(random);
      for (const ShardCell& cell : lay_out(test.shape, test.sharding, test.mesh).cells) {
        const std::vector<AxisTone> shared = shard_tones(test.mesh, test.sharding, cell.devices.front());
        for (int device : cell.devices) {
          const std::vector<AxisTone> own = device_tones(test.mesh, device);
          for (const AxisTone& tone : shared) QVERIFY(std::ranges::find(own, tone) != own.end());
          QCOMPARE(shard_tones(test.mesh, test.sharding, device).size(), shared.size());
        }
      }
    }
  }

  void devices_that_differ_have_colours_that_differ() {
    for (const Theme* theme : {&light_theme(), &dark_theme()})
      for (int64_t size : {2, 4, 8, 16})
        for (int64_t i = 0; i + 1 < size; ++i)
          QVERIFY(tone_color({0, i, size}, *theme) != tone_color({0, i + 1, size}, *theme));
  }

  void folded_bars_lose_no_slice_and_are_no_more_than_the_pixels_allow() {
    std::mt19937 random(5);
    std::exponential_distribution<double> length(1);
    for (int round = 0; round < 100; ++round) {
      std::vector<TimelineSlice> slices;
      double at = 0;
      const int count = 1 + static_cast<int>(random() % 4000);
      for (int i = 0; i < count; ++i) {
        at += random() % 3 ? 0 : length(random);
        const double end = at + length(random) * length(random);
        slices.push_back({at, end, i});
        at = end;
      }
      const double pixels = 50 + random() % 800;
      const double begin = at * double(random() % 100) / 200, end = begin + at * double(1 + random() % 100) / 200;
      const std::vector<TimelineBar> bars = visible_bars(slices, begin, end, pixels);
      QVERIFY(double(bars.size()) <= 2 * pixels / 3 + 3);
      const double scale = pixels / (end - begin);
      int next = bars.empty() ? 0 : bars.front().first;
      for (const TimelineBar& bar : bars) {
        QCOMPARE(bar.first, next);
        next = bar.last + 1;
        QVERIFY(bar.x >= -1e-6 && bar.x + bar.width <= pixels + 1e-6);
        for (int i = bar.first; bar.folded() && i <= bar.last; ++i)
          QVERIFY((slices[i].end - slices[i].start) * scale < 3);
      }
      for (int i = 0; i < count; ++i)
        if (slices[i].end > begin && slices[i].start < end) QVERIFY(i >= bars.front().first && i <= bars.back().last);
    }
  }

  void the_life_of_an_arena_is_drawn_whole_in_any_window_large_buffers_each_and_small_ones_summed() {
    std::mt19937 random(6);
    for (int round = 0; round < 50; ++round) {
      ArenaLayout arena;
      const int steps = arena.length = static_cast<int>(100 + random() % 400);
      for (int i = 0; i < 500; ++i) {
        Buffer buffer;
        buffer.category = static_cast<MemoryCategory>(random() % memory_category_count);
        buffer.bytes = 64 * (1 + int64_t(random() % (i % 3 ? 300 : 5000)));
        buffer.offset = 64 * int64_t(random() % 100000);
        buffer.first = static_cast<int>(random() % static_cast<unsigned>(steps));
        buffer.last = std::min(steps - 1, buffer.first + static_cast<int>(random() % 50));
        arena.bytes = std::max(arena.bytes, buffer.offset + buffer.bytes);
        arena.buffers.push_back(buffer);
      }
      const double width = 401, height = 300, least = 2;
      MemoryWindow window = whole_life(arena);
      if (round % 2) window = {steps * 0.31, steps * 0.62, double(arena.bytes) * 0.2, double(arena.bytes) * 0.7};
      const MemoryPicture picture = lay_out(arena, window, width, height, least);
      std::vector<bool> shown(500, false);
      std::array<double, memory_category_count> drawn{}, in_use{};
      double last_area = 1e18;
      for (const BufferRect& rect : picture.rects) {
        drawn[static_cast<size_t>(arena.buffers[static_cast<size_t>(rect.buffer)].category)] +=
            rect.place.width * rect.place.height;
        shown[static_cast<size_t>(rect.buffer)] = true;
        QVERIFY(rect.place.x >= 0 && rect.place.y >= 0);
        QVERIFY(rect.place.right() <= width + 1e-6 && rect.place.bottom() <= height + 1e-6);
        QVERIFY(rect.place.width * rect.place.height <= last_area);
        last_area = rect.place.width * rect.place.height;
      }
      for (size_t i = 0; i < 500; ++i) {
        const Buffer& buffer = arena.buffers[i];
        const double wide =
            (std::min<double>(buffer.last, window.last_step) + 1 - std::max<double>(buffer.first, window.first_step)) *
            width / (window.last_step - window.first_step + 1);
        const double high = (std::min<double>(double(buffer.offset + buffer.bytes), window.high) -
                             std::max<double>(double(buffer.offset), window.low)) *
                            height / (window.high - window.low);
        if (wide > least + 0.001 && high > least + 0.001) QVERIFY(shown[i]);
        if (wide < least - 0.001 || high < least - 0.001) QVERIFY(!shown[i]);
        if (wide > 0 && high > 0) in_use[static_cast<size_t>(buffer.category)] += wide * high;
      }
      const MemoryGrain& grain = picture.grain;
      for (const auto& shares : grain.shares)
        for (size_t category = 0; category < shares.size(); ++category) {
          QVERIFY(shares[category] > -1e-6);
          drawn[category] += double(shares[category]) * grain.cell * grain.cell;
        }
      for (size_t category = 0; category < drawn.size(); ++category)
        QVERIFY(std::abs(drawn[category] - in_use[category]) < 1e-3 * (1 + in_use[category]));
      const std::vector<CategoryBytes> live = live_bytes(arena);
      for (int s = 0; s < steps; s += 37) {
        int64_t expected = 0, counted = 0;
        for (const Buffer& buffer : arena.buffers)
          if (buffer.first <= s && s <= buffer.last) expected += buffer.bytes;
        for (int64_t bytes : live[static_cast<size_t>(s)]) counted += bytes;
        QCOMPARE(counted, expected);
      }
    }
  }

  void the_grain_is_where_the_small_buffers_are() {
    ArenaLayout arena;
    arena.length = 1000;
    arena.bytes = 1000 * 64;
    for (int i = 0; i < 1000; ++i) arena.buffers.push_back({0, MemoryCategory::activations, 64, 64 * i, i, i, false});
    const MemoryPicture picture = lay_out(arena, whole_life(arena), 100, 100, 2);
    QVERIFY(picture.rects.empty());
    const auto activations = static_cast<size_t>(MemoryCategory::activations);
    for (int row = 0; row < picture.grain.rows; ++row)
      for (int column = 0; column < picture.grain.columns; ++column) {
        const double share =
            picture.grain.shares[static_cast<size_t>(row * picture.grain.columns + column)][activations];
        QVERIFY(std::abs(share - (row == column ? 20 * 0.1 * 0.1 / 4 : 0)) < 1e-6);
      }
    QCOMPARE(buffer_at(arena, 17, 64 * 17 + 5), 17);
    QCOMPARE(buffer_at(arena, 17, 64 * 18 + 5), -1);
  }

  void an_axis_of_bytes_has_one_unit_and_round_marks_inside_it() {
    const double gib = 1073741824;
    const ByteAxis axis = byte_axis(0, 1.7 * gib, 6);
    QCOMPARE(QString::fromStdString(axis.unit), QString("GiB"));
    QStringList labels;
    for (const ByteAxis::Mark& mark : axis.marks) labels << QString::fromStdString(mark.label);
    QCOMPARE(labels, QStringList({"0.0", "0.5", "1.0", "1.5"}));
    QCOMPARE(axis.marks[1].bytes, gib / 2);
    std::mt19937 random(12);
    std::uniform_real_distribution<double> power(2, 13), unit(0, 1);
    for (int round = 0; round < 1000; ++round) {
      const double high = std::pow(10, power(random)), low = round % 2 ? 0 : high * unit(random) * 0.99;
      const ByteAxis any = byte_axis(low, high, 6);
      QVERIFY(!any.marks.empty() && any.marks.size() <= 6);
      QVERIFY(QString::fromStdString(bytes_text(high)).endsWith(QString::fromStdString(any.unit)));
      for (const ByteAxis::Mark& mark : any.marks) {
        QVERIFY(mark.bytes >= low - 1e-6 * high && mark.bytes <= high * (1 + 1e-6));
        QVERIFY(std::abs(QString::fromStdString(mark.label).toDouble() * byte_unit(high).bytes - mark.bytes) <=
                1e-6 * high);
      }
    }
  }

  void a_smoothed_curve_stays_within_its_points_and_without_weight_is_the_curve() {
    std::mt19937 random(8);
    std::vector<CurvePoint> points;
    for (int i = 0; i < 300; ++i) points.push_back({double(i) + double(random() % 3) / 4, double(random() % 100)});
    QCOMPARE(smoothed(points, 0), points);
    for (const double weight : {0.3, 0.9, 0.99}) {
      double low = points[0].y, high = points[0].y;
      const std::vector<CurvePoint> smooth = smoothed(points, weight);
      for (size_t i = 0; i < points.size(); ++i) {
        low = std::min(low, points[i].y);
        high = std::max(high, points[i].y);
        QCOMPARE(smooth[i].x, points[i].x);
        QVERIFY(smooth[i].y >= low - 1e-9 && smooth[i].y <= high + 1e-9);
      }
      for (CurvePoint& point : points) point.y = 7;
      for (const CurvePoint& point : smoothed(points, weight)) QVERIFY(std::abs(point.y - 7) < 1e-9);
      for (CurvePoint& point : points) point.y = double(random() % 100);
    }
  }

  void only_a_first_point_flattens_a_curve_and_the_nearest_point_is_the_nearest() {
    QVERIFY(first_flattens(std::vector<CurvePoint>{{0, 9}, {1, 4}, {2, 3}}));
    QVERIFY(!first_flattens(std::vector<CurvePoint>{{0, 7}, {1, 4}, {2, 3}}));
    QVERIFY(!first_flattens(std::vector<CurvePoint>{{0, 4}, {1, 9}, {2, 3}}));
    QVERIFY(!first_flattens(std::vector<CurvePoint>{{0, 9}, {1, 4}}));
    const std::vector<CurvePoint> points{{0, 1}, {4, 2}, {10, 3}};
    for (const auto& [x, y] : {std::pair(-5.0, 1.0), {1.9, 1.0}, {2.1, 2.0}, {8.0, 3.0}, {20.0, 3.0}})
      QCOMPARE(nearest_point(points, x)->y, y);
    QVERIFY(!nearest_point({}, 0));
  }

  void marks_of_a_logarithmic_axis_are_round_few_and_inside() {
    std::mt19937 random(9);
    for (int i = 0; i < 1000; ++i) {
      const double low = std::pow(10.0, double(random() % 800) / 100 - 4);
      const double high = low * std::pow(10.0, 0.01 + double(random() % 700) / 100);
      for (const int most : {4, 6}) {
        const std::vector<double> marks = log_marks(low, high, most);
        QVERIFY(std::ssize(marks) <= most && std::ranges::is_sorted(marks));
        for (const double mark : marks) QVERIFY(mark >= low * (1 - 1e-6) && mark <= high * (1 + 1e-6));
        if (high > 1.1 * low) QVERIFY2(!marks.empty(), qPrintable(QString("%1 %2").arg(low).arg(high)));
      }
    }
    QCOMPARE(log_marks(0.5, 300, 6), (std::vector<double>{1, 10, 100}));
    QCOMPARE(log_marks(2, 11, 6), (std::vector<double>{2, 5, 10}));
  }

  void a_decimated_curve_keeps_ends_and_extremes() {
    std::mt19937 random(8);
    for (int round = 0; round < 100; ++round) {
      std::vector<CurvePoint> points;
      const int count = 1 + static_cast<int>(random() % 5000);
      for (int i = 0; i < count; ++i) points.push_back({double(i), double(random() % 100000)});
      const std::vector<CurvePoint> kept = decimate(points, 100);
      QVERIFY(kept.size() <= std::min<size_t>(points.size(), 400));
      QVERIFY(kept.front() == points.front() && kept.back() == points.back());
      const auto [low, high] = std::ranges::minmax(points, {}, &CurvePoint::y);
      const auto [kept_low, kept_high] = std::ranges::minmax(kept, {}, &CurvePoint::y);
      QCOMPARE(kept_low.y, low.y);
      QCOMPARE(kept_high.y, high.y);
      QVERIFY(std::ranges::is_sorted(kept, {}, &CurvePoint::x));
    }
  }

  void marks_of_an_axis_are_few_round_and_tell_each_other_apart() {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> power(-6, 6), unit(-1, 1);
    for (int round = 0; round < 2000; ++round) {
      const double size = std::pow(10, power(random));
      double low = unit(random) * size, high = round % 7 == 0 ? low : unit(random) * size;
      if (low > high) std::swap(low, high);
      const int most = 3 + round % 5;
      const Ticks ticks = round_ticks(low, high, most);
      const double slack = ticks.step * 1e-6;
      QVERIFY(ticks.count >= 2 && ticks.count <= most);
      QVERIFY(ticks.first <= low + slack && ticks.last() >= high - slack);
      QSet<QString> labels;
      for (int mark = 0; mark < ticks.count; ++mark) {
        const QString label = QString::fromStdString(ticks.label(mark));
        labels.insert(label);
        QVERIFY2(!label.contains('e'), qPrintable(label));
        QVERIFY(std::abs(label.toDouble() - (ticks.first + ticks.step * mark)) <= slack);
      }
      QCOMPARE(labels.size(), qsizetype(ticks.count));
    }
  }

  // Infinities, no number, the largest and smallest, equal ones, in any order.
  void marks_of_any_two_numbers_are_finite_and_few() {
    using Limits = std::numeric_limits<double>;
    std::vector<double> numbers{0.0, -0.0, 1.0, -1.0, 1e-9, 1e15, 1e16, 3.5e38, 1e300, 1.7e308};
    for (const double number : {Limits::infinity(), Limits::max(), Limits::min(), Limits::denorm_min(),
                                Limits::quiet_NaN(), Limits::epsilon()})
      numbers.insert(numbers.end(), {number, -number});
    std::mt19937_64 random(13);
    for (int i = 0; i < 30; ++i) numbers.push_back(std::bit_cast<double>(random()));
    for (const double low : numbers) {
      for (const double high : numbers) {
        for (const int most : {0, 3, 6}) {
          const Ticks ticks = round_ticks(low, high, most);
          QVERIFY(ticks.count >= 2 && ticks.count <= std::max(3, most));
          QVERIFY(std::isfinite(ticks.first) && std::isfinite(ticks.last()) && ticks.step > 0);
          QVERIFY(ticks.first < ticks.last());
          for (int mark = 0; mark < ticks.count; ++mark) QVERIFY(ticks.label(mark).size() <= 24);
          QVERIFY(QString::asprintf(ticks.format().c_str(), ticks.last()).size() <= 24);
          const std::vector<double> marks = log_marks(low, high, most);
          QVERIFY(std::ssize(marks) <= std::max(3, most));
          for (const double mark : marks) QVERIFY(std::isfinite(mark) && mark > 0);
          QVERIFY(std::ssize(inner_marks(low, high, most)) <= std::max(3, most));
        }
      }
    }
  }

  void marks_inside_a_range_are_all_of_one_step() {
    QCOMPARE(inner_marks(0.5, 4.2, 5), (std::vector<double>{1, 2, 3, 4}));
    QVERIFY(inner_marks(2, 2, 5).empty() && inner_marks(3, 2, 5).empty());
    QCOMPARE(inner_marks(0, 100, 6), (std::vector<double>{0, 20, 40, 60, 80, 100}));
    const double far = 9.2e9;  // its neighbours are 2e-6 away
    const std::vector<double> marks = inner_marks(far, far + 1e-4, 8);
    QVERIFY(marks.size() > 2 && std::ranges::is_sorted(marks));
    for (const double mark : marks) QVERIFY(mark >= far && mark <= far + 1e-4);
  }

  void marks_around_step_times_are_whole_seconds() {
    const Ticks ticks = round_ticks(3472, 5100, 4);
    QCOMPARE(QString::fromStdString(ticks.label(0)), QString("3000"));
    QCOMPARE(ticks.step, 1000.0);
    QCOMPARE(ticks.last(), 6000.0);
  }

  void quantities_read_with_three_digits_and_a_unit() {
    QCOMPARE(bytes_text(0), std::string("0 B"));
    QCOMPARE(bytes_text(1023), std::string("1023 B"));
    QCOMPARE(bytes_text(12.34 * 1048576), std::string("12.3 MiB"));
    QCOMPARE(bytes_text(230.4 * 1048576), std::string("230 MiB"));
    QCOMPARE(seconds_text(1.9234), std::string("1.92 s"));
    QCOMPARE(seconds_text(0.2404), std::string("240 ms"));
    QCOMPARE(seconds_text(35e-6), std::string("35.0 \u00b5s"));
    QCOMPARE(seconds_text(3.107e-9), std::string("3.11 ns"));
    QCOMPARE(seconds_text(437985), std::string("5.1 days"));
    QCOMPARE(seconds_text(751), std::string("12.5 min"));
    QCOMPARE(seconds_text(599), std::string("599 s"));
    QCOMPARE(seconds_text(3 * 3600), std::string("3.0 h"));
    QCOMPARE(seconds_text(1e10), std::string("317 years"));
    QCOMPARE(bytes_text(45333488.0 * 1048576), std::string("43.2 TiB"));
    QCOMPARE(bytes_text(3.5 * std::pow(1024.0, 5)), std::string("3.50 PiB"));
    QCOMPARE(flops_text(12.34e9), std::string("12.3 GFLOP"));
    QCOMPARE(exact_number(1234567), std::string("1,234,567"));
    QCOMPARE(exact_number(-12), std::string("-12"));
    QCOMPARE(exact_number(std::numeric_limits<int64_t>::min()), std::string("-9,223,372,036,854,775,808"));
    QCOMPARE(exact_bytes(std::numeric_limits<double>::max()), bytes_text(std::numeric_limits<double>::max()));
    QVERIFY(bytes_text(std::numeric_limits<double>::max()).size() < 20);
    QVERIFY(seconds_text(std::numeric_limits<double>::max()).size() < 20);
    QVERIFY(compared_bytes(3 << 20, 2 << 20) == std::pair(std::string("3.00 MiB"), std::string("2.00 MiB")));
    QVERIFY(compared_bytes(3 << 20, (3 << 20) - 1) ==
            std::pair(std::string("3,145,728 B"), std::string("3,145,727 B")));
    QCOMPARE(signed_text(-2048, bytes_text), std::string("\u22122.00 KiB"));
    QCOMPARE(ratio_text(103, 100), std::string("+3.0 %"));
    QCOMPARE(device_text({0, 1, 2, 3, 6}), std::string("0\u20133, 6"));
    QCOMPARE(device_text({0, 1, 4}), std::string("0, 1, 4"));
  }
};

REGISTER_TEST(GeometryTest)

}  // namespace geometry_test

#include "geometry_test.moc"
