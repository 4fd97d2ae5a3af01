#include <QTest>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/machine/host_machine.h"
#include "tests/test_program.h"
#include "viz/paint/flow_difference.h"
#include "viz/paint/flow_layout.h"

namespace flow_graph_test {

using namespace shardscope;

// Laws of the flow graph and its picture, on the plans of presets.
class FlowGraphTest : public QObject {
  Q_OBJECT

  static RunConfig preset(const std::string& name, int64_t layers = 0) {
    RunConfig config = load_run_config(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets" / (name + ".json"));
    for (auto& [option, value] : config.model.options)
      if (layers > 0 && option == "num_layers") value = layers;
    return config;
  }

  static const std::vector<Plan>& plans() {
    static const std::vector<Plan> all = [] {
      RunConfig again = preset("nnx_gpt2", 3);
      again.schedule = {2, "full", 1};
      RunConfig written = preset("parallax_decoder");
      written.sharding.mode = LayoutMode::as_written;
      std::vector<Plan> made;
      for (const RunConfig& config :
           {preset("parallax_decoder"), written, preset("nnx_gpt2", 8), again, preset("mintext_transformer"),
            preset("tiny_lm_fsdp"), preset("workshop_1f1b"), preset("workshop_zero_bubble"), preset("workshop_tp")})
        made.push_back(compile({config, standard_host()}));
      return made;
    }();
    return all;
  }

  template <class Check>
  static void for_each_graph(const Check& check) {
    for (const Plan& plan : plans())
      for (int stage = 0; stage < plan.program.stages; ++stage)
        for (const bool fold : {false, true}) check(plan, stage, flow_graph(plan, stage, fold));
  }

  static bool overlap(const PictureRect& a, const PictureRect& b) {
    return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
  }

  static bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

 private slots:
  void every_step_and_so_every_collective_is_there_exactly_once() {
    for_each_graph([](const Plan& plan, int stage, const FlowGraph& graph) {
      std::multiset<InstructionId> shown, planned;
      for (const FlowNode& node : graph.nodes) {
        shown.insert(node.steps.begin(), node.steps.end());
        for (const InstructionId id : node.steps) QCOMPARE(&graph.nodes[graph.find(id)], &node);
      }
      const SequenceInstructions steps = plan.instructions(stage);
      for (const auto& [position, count] : distinct_instructions(plan.program.main(stage))) {
        const InstructionId id = steps.id(position), whole = whole_collective(plan.program.tasks, id);
        if (id == whole) planned.insert(id);
        QCOMPARE(graph.find(id), graph.find(whole));
      }
      QVERIFY(shown == planned);
      QCOMPARE(graph.find({-1, 0}), -1);
    });
  }

  // What is said to set a lane apart is so: all before it agrees, and it does not.
  void lanes_of_layers_differ_in_what_is_said() {
    int said = 0, layouts = 0;
    for_each_graph([&](const Plan& plan, int, const FlowGraph& graph) {
      for (int l = 0; l < std::ssize(graph.lanes); ++l) {
        const std::optional<LaneDifference> found = lane_difference(plan, graph, l);
        if (!found) continue;
        ++said;
        const FlowLane &own = graph.lanes[l], &other = graph.lanes[found->other];
        QCOMPARE(own.task, other.task);
        QVERIFY(found->here >= 0 || found->there >= 0);
        QVERIFY(found->here < own.end && found->there < other.end);
        if (found->here >= 0 && found->there >= 0) QCOMPARE(found->here - own.first, found->there - other.first);
        const int before = found->here >= 0 ? found->here - own.first : found->there - other.first;
        for (int n = 0; n < before; ++n) QCOMPARE(graph.nodes[own.first + n].kind, graph.nodes[other.first + n].kind);
        if (found->value_here < 0) continue;
        ++layouts;
        const ProgramValue &here = plan.program.values[found->value_here],
                           &there = plan.program.values[found->value_there];
        QVERIFY(!(here.shape == there.shape && here.sharding == there.sharding));
      }
    });
    QVERIFY(said > 0 && layouts > 0);
  }

  void no_two_nodes_overlap_and_each_is_in_its_lane() {
    for_each_graph([](const Plan&, int, const FlowGraph& graph) {
      int next = 0;
      for (size_t l = 0; l < graph.lanes.size(); ++l) {
        const FlowLane& lane = graph.lanes[l];
        QCOMPARE(lane.first, next);
        next = lane.end;
        QVERIFY(l == 0 || graph.lanes[l - 1].place.bottom() < lane.place.y);
        QVERIFY(lane.place.right() <= graph.width && lane.place.bottom() <= graph.height);
        for (int a = lane.first; a < lane.end; ++a) {
          const PictureRect& place = graph.nodes[a].place;
          QCOMPARE(graph.nodes[a].lane, int(l));
          QVERIFY(place.x >= lane.place.x && place.right() <= lane.place.right());
          QVERIFY(place.y >= lane.place.y + flow_sizes.lane_head && place.bottom() <= lane.place.bottom());
          for (int b = a + 1; b < lane.end; ++b) QVERIFY(!overlap(place, graph.nodes[b].place));
        }
      }
      QCOMPARE(next, int(graph.nodes.size()));
    });
  }

  void edges_go_forward() {
    for_each_graph([](const Plan& plan, int, const FlowGraph& graph) {
      for (const FlowEdge& edge : graph.edges) {
        const FlowNode &from = graph.nodes[edge.from], &to = graph.nodes[edge.to];
        QVERIFY(from.lane <= to.lane);
        if (graph.is_within(edge)) QVERIFY(from.place.right() + 14 < to.place.x);
        const auto has = [&](const FlowNode& node, auto values) {
          return std::ranges::any_of(node.steps, [&](InstructionId id) {
            return std::ranges::count((plan.program.tasks[id.task].instructions[id.index].*values)(), edge.value) > 0;
          });
        };
        QVERIFY(has(from, &Instruction::destinations) && has(to, &Instruction::operands));
      }
      QVERIFY(std::ranges::is_sorted(graph.edges, {}, &FlowEdge::to));
    });
  }

  void the_line_of_an_edge_within_a_lane_crosses_no_node() {
    for_each_graph([](const Plan&, int, const FlowGraph& graph) {
      for (const FlowEdge& edge : graph.edges) {
        const std::vector<FlowPoint> line = edge_line(graph, edge);
        const PictureRect &from = graph.nodes[edge.from].place, &to = graph.nodes[edge.to].place;
        QCOMPARE(line.front().x, from.right());
        QCOMPARE(line.back().x, to.x);
        if (!graph.is_within(edge)) continue;
        const FlowLane& lane = graph.lanes[graph.nodes[edge.from].lane];
        for (size_t i = 1; i < line.size(); ++i) {
          const FlowPoint &a = line[i - 1], &b = line[i];
          QVERIFY(a.x == b.x || a.y == b.y);
          const PictureRect covered{std::min(a.x, b.x), std::min(a.y, b.y), std::abs(a.x - b.x), std::abs(a.y - b.y)};
          for (int n = lane.first; n < lane.end; ++n)
            if (n != edge.from && n != edge.to) QVERIFY(!overlap(graph.nodes[n].place, covered));
        }
      }
    });
  }

  void folded_totals_equal_the_unfolded_and_the_plans() {
    for (const Plan& plan : plans())
      for (int stage = 0; stage < plan.program.stages; ++stage) {
        double seconds = 0, flops = 0;
        int position = 0;
        for (const Instruction& instruction : plan.instructions(stage)) {
          seconds += plan.seconds(position++, stage);
          flops += instruction.flops();
        }
        for (const bool fold : {false, true}) {
          const FlowGraph graph = flow_graph(plan, stage, fold);
          double node_seconds = 0, node_flops = 0, wire = 0, lane_seconds = 0, lane_wire = 0;
          for (const FlowNode& node : graph.nodes) {
            node_seconds += node.seconds;
            node_flops += node.flops;
            wire += node.wire_bytes;
          }
          for (const FlowLane& lane : graph.lanes) {
            lane_seconds += lane.seconds;
            lane_wire += lane.wire_bytes;
          }
          QVERIFY(is_near(node_seconds, seconds) && is_near(lane_seconds, seconds));
          QVERIFY(is_near(node_flops, flops));
          QVERIFY(is_near(wire, plan.pipeline.totals[stage].wire_bytes_per_device) && is_near(lane_wire, wire));
        }
      }
  }

  void layers_that_are_alike_share_a_lane_however_many_they_are() {
    for (const char* name : {"parallax_decoder", "nnx_gpt2", "mintext_transformer"}) {
      size_t lanes = 0, nodes = 0;
      for (const int layers : {6, 12}) {
        const Plan plan = compile({preset(name, layers), standard_host()});
        const FlowGraph graph = flow_graph(plan, 0, true);
        int most = 0;
        for (const FlowLane& lane : graph.lanes) {
          most = std::max(most, int(lane.layers.size()));
          for (int n = lane.first; n < lane.end; ++n)
            QCOMPARE(graph.nodes[n].steps.size(), std::max<size_t>(1, lane.layers.size()));
        }
        QVERIFY2(most >= layers - 2, qPrintable(QString("%1 of %2 layers of %3").arg(most).arg(layers).arg(name)));
        QVERIFY2(lanes == 0 || graph.lanes.size() <= lanes + 1, name);
        QVERIFY2(nodes == 0 || graph.nodes.size() <= nodes * 5 / 4, name);
        lanes = graph.lanes.size();
        nodes = graph.nodes.size();
      }
    }
  }

  void layers_that_are_alike_share_a_lane_also_where_others_stand_between_them() {
    RunConfig config = preset("nnx_gpt2", 5);
    config.sharding.mode = LayoutMode::as_written;
    for (const char* odd : {"blocks/1/gelu", "blocks/3/gelu"})
      config.sharding.constraints.push_back({odd, {{{"batch"}, {}, {}}}});
    const FlowGraph graph = flow_graph(compile({config, standard_host()}), 0, true);
    const auto is_odd = [](const FlowLane& lane) { return lane.layers == std::vector<int>{1, 3}; };
    QVERIFY(std::ranges::count_if(graph.lanes, is_odd) >= 1);
    const auto is_mixed = [](const FlowLane& lane) {
      return lane.phase == Phase::forward && std::ranges::count(lane.layers, 1) && std::ranges::count(lane.layers, 2);
    };
    QVERIFY(std::ranges::none_of(graph.lanes, is_mixed));
  }

  void what_is_looked_for_is_found() {
    for_each_graph([](const Plan&, int, const FlowGraph& graph) {
      for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const PictureRect& place = graph.nodes[n].place;
        QCOMPARE(node_at(graph, place.x + place.width / 2, place.y + place.height / 2), int(n));
        QCOMPARE(node_at(graph, place.right() + 3, place.y - 3), -1);
      }
      QCOMPARE(lanes_between(graph, -1, graph.height), std::pair(0, int(graph.lanes.size())));
      QCOMPARE(lanes_between(graph, graph.height + 1, graph.height + 2).first, int(graph.lanes.size()));
    });
  }
};

REGISTER_TEST(FlowGraphTest)

}  // namespace flow_graph_test

#include "flow_graph_test.moc"
