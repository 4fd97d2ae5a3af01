#include <memory>

#include "engine/base/error.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/layout_arguments.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/cli/stored_arrays.h"
#include "engine/compile/compile.h"
#include "viz/text/index_map.h"
#include "viz/text/visualize.h"

namespace shardscope {

namespace {

struct ShowArguments {
  RunFileArguments run_file;
  std::string parameter;
  std::string mesh, spec, shape, devices;
  bool index_map = false;
  bool has_mesh = false, has_spec = false, has_shape = false, has_devices = false;

  bool without_file() const { return has_mesh || has_spec || has_shape || has_devices; }

  void print(const Sharding& sharding, const Mesh& mesh, const Shape& shape) const {
    if (index_map) print_lines(index_map_json(sharding, mesh, shape) + "\n");
    else print_lines(visualize_sharding(sharding, mesh, shape));
  }

  void show_layout() const {
    Error misuse{"bad_argument", "", "show", "shardrun show FILE PARAM, or --mesh, --spec and --shape"};
    if (!run_file.file.empty() || !run_file.assignments.empty()) {
      misuse.message = "a run file and --mesh, --spec, --shape or --devices exclude each other";
      throw Failure(misuse);
    }
    if (!has_mesh || !has_spec || !has_shape) {
      misuse.message = "--mesh, --spec and --shape belong together";
      throw Failure(misuse);
    }
    Mesh parsed_mesh = parse_mesh_argument(mesh, devices);
    PartitionSpec parsed_spec = parse_spec_argument(spec);
    Shape parsed_shape = parse_shape_argument(shape);
    std::vector<Error> errors = check(parsed_spec, parsed_mesh, parsed_shape, "--spec");
    if (!errors.empty()) throw Failure(errors);
    print(to_sharding(parsed_spec, parsed_mesh, static_cast<int>(parsed_shape.size())), parsed_mesh, parsed_shape);
  }

  void show_parameter() const {
    if (run_file.file.empty() || parameter.empty()) {
      throw Failure(Error{"bad_argument", "a run file and the name of a parameter are needed", at_argument("show"),
                          "shardrun show FILE PARAM, or --mesh, --spec and --shape"});
    }
    Plan plan = compile(run_file.request(run_file.load()));
    StoredArray array = find_stored_array(plan, parameter);
    print(array.sharding, plan.mesh, array.shape);
  }
};

}  // namespace

void add_show(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("show", "Draw how an array is sharded over the devices");
  auto arguments = std::make_shared<ShowArguments>();
  arguments->run_file.add_to(*command, false);
  command->add_option("PARAM", arguments->parameter, "Embed_0/embedding, optimizer/mu/params/Embed_0/embedding");
  auto* mesh = command->add_option("--mesh", arguments->mesh, "axes, as in data=4,model=2")->type_name("AXES");
  auto* spec = command
                   ->add_option("--spec", arguments->spec,
                                R"s(partition spec: "P(('data', 'model'), None)" or [["data","model"],null])s")
                   ->type_name("SPEC");
  auto* shape = command->add_option("--shape", arguments->shape, "sizes, as in 1024,512")->type_name("SIZES");
  auto* devices =
      command->add_option("--devices", arguments->devices, "device order, as in 0,2,1,3")->type_name("LIST");
  command->add_flag("--index-map", arguments->index_map, "which elements each device holds, as JSON");
  line.help(command)
      .paragraph(
          "The sharding of a parameter of a run file, or of its optimizer state (`optimizer/mu/...`), as "
          "`jax.debug.visualize_array_sharding` draws it; or, without a file, of any array by `--mesh`, `--spec` and "
          "`--shape`.")
      .example("shardrun show run.json Embed_0/embedding", "a parameter")
      .example(R"s(shardrun show --mesh data=4,model=2 --spec "P(('data', 'model'), None)" --shape 1024,512)s",
               "any array, without a run file");
  command->callback([=, &line] {
    arguments->has_mesh = mesh->count() > 0;
    arguments->has_spec = spec->count() > 0;
    arguments->has_shape = shape->count() > 0;
    arguments->has_devices = devices->count() > 0;
    line.action = [arguments] {
      if (arguments->without_file()) arguments->show_layout();
      else arguments->show_parameter();
      return exit_ok;
    };
  });
}

}  // namespace shardscope
