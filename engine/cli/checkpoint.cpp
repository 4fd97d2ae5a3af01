#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <utility>

#include "engine/base/cancelled.h"
#include "engine/base/output_file.h"
#include "engine/base/path.h"
#include "engine/base/plural.h"
#include "engine/base/printable.h"
#include "engine/base/standard_streams.h"
#include "engine/base/units.h"
#include "engine/checkpoint/checkpoint_folder.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/checkpoint/export_model.h"
#include "engine/checkpoint/export_parameters.h"
#include "engine/cli/cancel_on_signal.h"
#include "engine/cli/checkpoint_table.h"
#include "engine/cli/command_line.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/cli/text_table.h"
#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/export/export_target.h"
#include "engine/worker/import_parameters.h"

namespace shardscope {

namespace {

using Align = TextTable::Align;

// The checkpoint that a path means: itself, or the newest of a folder.
std::string checkpoint_at(const std::string& path) {
  if (is_checkpoint(path)) return path;
  const std::vector<FoundCheckpoint> found = list_checkpoints(path);
  if (!found.empty()) return found.back().path;
  throw Failure(Error{"no_checkpoint", "there is no checkpoint here", in_file(path),
                      "the folder that --checkpoint named, or one of its step_... folders"});
}

void print_states(const CheckpointIndex& index) {
  TextTable table({{"state"}, {"dtype"}, {"shape"}, {"size", Align::right}, {"pieces", Align::right}});
  for (const CheckpointState& state : index.states) {
    table.add_row({printable(state.name), std::string(name(state.type.dtype)), to_string(state.type.shape),
                   bytes_text(static_cast<double>(state.type.bytes())), std::to_string(state.pieces.size())});
  }
  print_lines(fmt::format("{}: step {} of model {} on {}, {} in {}\n{}", step_folder_name(index.step), index.step,
                          printable(index.model), printable(index.mesh), bytes_text(static_cast<double>(index.bytes())),
                          counted(std::ssize(index.files), "file"), table.text()));
}

int list(const std::string& path, bool verify) {
  if (!is_checkpoint(path)) {
    checkpoint_at(path);
    const CheckpointTable table = checkpoint_table(list_checkpoints(path), verify);
    print_lines(table.text);
    return table.all_whole ? exit_ok : exit_failed_run;
  }
  CheckpointReader reader(path);
  if (verify) reader.verify();
  print_states(reader.index());
  return exit_ok;
}

void add_list(CLI::App& command, CommandLine& line) {
  struct Arguments {
    std::string path;
    bool verify = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* list_command = command.add_subcommand("list", "The checkpoints of a folder, or the content of one");
  list_command->add_option("DIR", arguments->path, "folder of checkpoints, or DIR/step_...")->required();
  list_command->add_flag("--verify", arguments->verify, "read every byte and compare it with its hash");
  line.help(list_command)
      .example("shardrun checkpoint list checkpoints --verify", "which checkpoints are whole, byte by byte");
  list_command->callback(
      [&line, arguments] { line.action = [arguments] { return list(arguments->path, arguments->verify); }; });
}

// Which an export must not write over.
std::vector<std::string> files_of(const std::string& path, const CheckpointIndex& index) {
  std::vector<std::string> files = {path + "/" + index_file_name};
  for (const CheckpointFile& file : index.files) files.push_back(path + "/" + file.name);
  return files;
}

class TemporaryFile {
 public:
  TemporaryFile() : path_((std::filesystem::temp_directory_path() / "shardrun.XXXXXX").string()) {
    const int descriptor = ::mkstemp(path_.data());
    if (descriptor >= 0) file_.reset(::fdopen(descriptor, "r+"));
    if (!file_) fail_to_write(path_, errno);
  }
  ~TemporaryFile() { remove(); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // What is in it goes with the process then, however that ends.
  void remove() {
    if (!path_.empty()) ::unlink(std::exchange(path_, {}).c_str());
  }
  const std::string& path() const { return path_; }
  std::FILE* file() const { return file_.get(); }

 private:
  std::string path_;
  OutputFile file_;
};

// By way of a file, since arrays are not written in their order.
void export_to_standard_output(CheckpointReader& reader, const std::stop_token& stop) {
  TemporaryFile whole;
  export_parameters(reader, whole.path(), stop);
  whole.remove();
  OutputFile out = open_output(std::string(standard_stream), Existing::overwrite, {});
  std::array<char, 1 << 16> block;
  while (const size_t count = std::fread(block.data(), 1, block.size(), whole.file())) {
    throw_if_stopped(stop);
    put(out.get(), {block.data(), count}, std::string(standard_stream));
  }
  close_file(std::move(out), std::string(standard_stream));
}

// Files beside config.json and weights that transformers reads of a model's folder: of its tokenizer, and how it
// generates.
constexpr const char* kept_files[] = {
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "spiece.model",
    "tiktoken.model",
    "generation_config.json",
};

// A folder that transformers loads. OUT/ is OUT.
void export_to_folder(CheckpointReader& reader, const std::string& out, const std::stop_token& stop) {
  namespace fs = std::filesystem;
  const std::string folder = without_slashes(out);
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(folder, ignored)))
    throw Failure(Error{"unwritable_file", "this exists", in_file(folder), "a new folder"});
  ExportTarget target(folder, ExportTarget::Form::folder, {});
  const ModelDefinition::Description model = model_description(parse_run_config(reader.index().run_file, ""));
  const ModelExport how{model.experts, model.adapter_scale, model.in_out};
  require_same_arrays(reader.index(), model.states, how, in_file(model.file));
  target.add_file("config.json", model.config);
  for (const char* name : kept_files) {
    const fs::path file = fs::path(model.folder) / name;
    if (fs::is_regular_file(file, ignored)) target.add_copy(name, file.string());
  }
  export_model(reader, target.part(), how, stop);
  target.keep();
  if (!is_quiet()) print_lines(fmt::format("{}: the model of step {}\n", folder, reader.index().step));
}

void export_to_file(CheckpointReader& reader, const std::string& path, Existing existing, const std::string& out,
                    const std::stop_token& stop) {
  WholeFile file(out, existing, files_of(path, reader.index()), exported_layout(reader.index()).bytes());
  export_parameters(reader, file.part(), stop);
  file.keep();
  if (!is_quiet()) print_lines(fmt::format("{}: the parameters of step {}\n", out, reader.index().step));
}

// Runs until it is done or a signal ends it, after which nothing of it is left.
template <class Export>
int until_cancelled(const std::string& out, const Export& run) {
  const CancelOnSignal cancel;
  try {
    run(cancel.token());
    return exit_ok;
  } catch (const Cancelled&) {
  } catch (const Failure&) {
    if (cancel.first() == 0) throw;  // else a call that the signal interrupted
  }
  say(fmt::format("{}: cancelled; nothing was written", out));
  return exit_by_signal + cancel.first();
}

void add_parameter_export(CLI::App& command, CommandLine& line) {
  struct Arguments {
    std::string path, out;
    bool force = false, huggingface = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* export_command = command.add_subcommand(
      "export", "Write all parameters, whole, to one safetensors file, as `train --parameters` does");
  export_command->add_option("DIR", arguments->path, "DIR/step_..., or a folder: its newest checkpoint")->required();
  export_command->add_option("OUT", arguments->out, "new safetensors file, or - for standard output")
      ->required()
      ->transform(output_name);
  export_command->add_flag("--force", arguments->force, "lose what is in a file that exists");
  export_command->add_flag("--huggingface", arguments->huggingface,
                           "a new folder that transformers loads: config, weights, files of the tokenizer");
  line.help(export_command)
      .example("shardrun checkpoint export checkpoints weights.safetensors", "the newest checkpoint's parameters")
      .example("shardrun checkpoint export checkpoints model --huggingface",
               "a folder for `AutoModelForCausalLM.from_pretrained`");
  export_command->callback([&line, arguments] {
    line.action = [arguments] {
      const std::string path = checkpoint_at(arguments->path);
      CheckpointReader reader(path);
      return until_cancelled(arguments->out, [&](const std::stop_token& stop) {
        if (arguments->huggingface) return export_to_folder(reader, arguments->out, stop);
        if (arguments->out == standard_stream) return export_to_standard_output(reader, stop);
        const Existing existing = arguments->force ? Existing::overwrite : Existing::refuse;
        export_to_file(reader, path, existing, arguments->out, stop);
      });
    };
  });
}

void add_import(CLI::App& command, CommandLine& line) {
  struct Arguments {
    std::string path, parameters;
    bool cast = false;
    RunFileArguments run_file;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* import_command = command.add_subcommand(
      "import", "Make a checkpoint of step 0 from the parameters in a safetensors file, to train on from");
  import_command->add_option("DIR", arguments->path, "folder of checkpoints, which has none yet")->required();
  import_command->add_option("PARAMETERS", arguments->parameters, "safetensors file, arrays named as export does")
      ->required();
  import_command->add_flag("--cast", arguments->cast, "convert arrays of another floating-point type: F16, BF16, F64");
  arguments->run_file.add_to(*import_command);
  line.help(import_command)
      .paragraph("Where names differ it says which ones it expects.")
      .example("shardrun checkpoint import start weights.safetensors run.json",
               "`shardrun train run.json --resume start` begins from these weights");
  import_command->callback([&line, arguments] {
    line.action = [arguments] {
      const Plan plan = compile(arguments->run_file.request(arguments->run_file.load()));
      import_parameters(plan, arguments->parameters, arguments->path, arguments->cast,
                        [](const std::string& text) { say(text); });
      if (!is_quiet())
        print_lines(fmt::format("{}/{}: {}\n", arguments->path, step_folder_name(0),
                                counted(std::ssize(plan.parameters), "parameter")));
      return exit_ok;
    };
  });
}

void describe_checkpoints(HelpText& help) {
  help.paragraph(
          "A checkpoint is a folder: a safetensors file of each rank that holds something no lower rank holds, and "
          "`index.json`, which says of every state (parameters, optimizer state, whatever a model keeps) its whole "
          "shape, which file has which box of it, and a hash of each MiB. It does not depend on the mesh: any other "
          "mesh "
          "restores the same bits, each rank reading and comparing only the MiB that it needs.")
      .paragraph(
          "Each rank copies its part, into memory that it takes before the first step, and writes it while training "
          "continues, under a hidden name; the folder gets its own name when all of it is on the disk. A process that "
          "dies at any moment therefore costs no checkpoint. A "
          "run holds its folder open: where the folder is moved or replaced meanwhile, the run ends, and nothing is "
          "written into what took its place. Only what the program wrote is removed; what a user put into an old "
          "checkpoint stays as `DIR/step_000120.left`, links are not followed, and what cannot be removed is reported "
          "and tried again.")
      .paragraph(
          "A flipped bit, a missing or a short file is reported with file, state and block before the first step: of a "
          "folder the newest whole checkpoint is taken, and for a damaged one that was named the last whole one is "
          "offered. In the window, Run, Checkpoints lists them; Resume continues from the selected one with the "
          "plan that is shown, and asks first where its data changed.")
      .paragraph(
          "A checkpoint records with which data files it was trained: their names, sizes and a hash of 64 evenly "
          "spaced "
          "blocks of 64 KiB (of a file up to 4 MiB all of it; a change of a larger file between two blocks that keeps "
          "its size is not seen; times are not compared). Where these differ, a resume, a restart, or a host whose "
          "copy "
          "differs ends with the file's name; `--allow-changed-data` trains on. Seeds, batch size and other settings "
          "that changed are printed before the first step.");
}

}  // namespace

void add_checkpoint(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("checkpoint", "List checkpoints, write their parameters to a file, read them from one");
  command->require_subcommand(1);
  describe_checkpoints(line.help(command));
  add_list(*command, line);
  add_parameter_export(*command, line);
  add_import(*command, line);
}

}  // namespace shardscope
