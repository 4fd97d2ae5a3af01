#include "engine/export/portable_model.h"

#include <QTemporaryDir>
#include <QtTest>
#include <nlohmann/json.hpp>

#include "engine/base/output_file.h"
#include "engine/compile/model_run.h"
#include "engine/compile/training_graph.h"
#include "engine/export/published_models.h"
#include "engine/export/strategy_format.h"
#include "tests/base/errors_of.h"
#include "tests/test_program.h"

namespace portable_model_test {

using namespace shardscope;
using nlohmann::json;

namespace {

std::string text_of(std::string_view name) {
  return std::string(std::ranges::find(published_model_files(), name, &LibraryFile::name)->text);
}

int64_t parameters(const std::string& config) {
  const QTemporaryDir folder;
  const std::string path = folder.filePath("config.json").toStdString();
  write_new_file(path, config);
  const ForwardGraph forward = build_forward(run_of_model(path, 1));
  int64_t count = 0;
  for (const State& state : forward.graph->states) {
    if (state.trainable) count += element_count(forward.graph->type(state.before).shape);
  }
  return count;
}

// The arguments of Megatron that say what a config of these families says.
std::string megatron_arguments(const json& c) {
  const std::string type = c["model_type"];
  std::string text = "--seq-length 4096 --bf16 --make-vocab-size-divisible-by 1\n";
  const auto add = [&](const char* name, const json& value) {
    text += std::string("--") + name + " " + value.dump() + "\n";
  };
  add("vocab-size", c["vocab_size"]);
  if (!c.value("tie_word_embeddings", false)) text += "--untie-embeddings-and-output-weights\n";
  if (type == "gpt2") {
    add("hidden-size", c["n_embd"]), add("num-layers", c["n_layer"]), add("num-attention-heads", c["n_head"]);
    add("max-position-embeddings", c["n_positions"]);
    return text;
  }
  text += "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear\n";
  text += "--group-query-attention\n";
  add("hidden-size", c["hidden_size"]), add("num-layers", c["num_hidden_layers"]);
  add("num-attention-heads", c["num_attention_heads"]), add("num-query-groups", c["num_key_value_heads"]);
  add("ffn-hidden-size", c["intermediate_size"]);
  if (c.contains("head_dim")) add("kv-channels", c["head_dim"]);
  if (type == "qwen2") text += "--add-qkv-bias\n";
  if (type.starts_with("qwen3")) text += "--qk-layernorm\n";
  if (c.contains("moe_intermediate_size")) add("moe-ffn-hidden-size", c["moe_intermediate_size"]);
  for (const char* experts : {"num_experts", "num_local_experts"}) {
    if (c.contains(experts)) add("num-experts", c[experts]), add("moe-router-topk", c["num_experts_per_tok"]);
  }
  return text;
}

std::string maxtext_shapes(const json& c) {
  std::string text = "max_target_length: 4096\n";
  const auto add = [&](const char* name, const json& value) { text += std::string(name) + ": " + value.dump() + "\n"; };
  add("vocab_size", c["vocab_size"]), add("base_emb_dim", c["hidden_size"]),
      add("base_mlp_dim", c["intermediate_size"]);
  add("base_num_decoder_layers", c["num_hidden_layers"]), add("base_num_query_heads", c["num_attention_heads"]);
  add("base_num_kv_heads", c["num_key_value_heads"]);
  add("head_dim", c["hidden_size"].get<int>() / c["num_attention_heads"].get<int>());
  if (c.contains("num_local_experts"))
    add("num_experts", c["num_local_experts"]), add("num_experts_per_tok", c["num_experts_per_tok"]);
  return text;
}

PortableModel read(const char* format, const std::string& text) {
  return find_strategy_format(format)->read_model(text, "f");
}

}  // namespace

class PortableModelTest : public QObject {
  Q_OBJECT

 private slots:
  void shapes_in_arguments_have_the_parameters_of_the_published_model() {
    int megatron = 0, maxtext = 0;
    for (const LibraryFile& file : published_model_files()) {
      const json config = json::parse(file.text);
      const std::string type = config["model_type"];
      const auto is_one_of = [&](std::initializer_list<const char*> types) {
        return std::ranges::find(types, type) != types.end();
      };
      if (is_one_of({"llama", "qwen2", "qwen3", "mixtral", "qwen3_moe", "gpt2"})) {
        const PortableModel model = read("megatron", megatron_arguments(config));
        QCOMPARE(json::parse(model.config)["model_type"].get<std::string>(), type);
        QCOMPARE(parameters(model.config), parameters(std::string(file.text)));
        QCOMPARE(model.sequence_length, int64_t{4096});
        QCOMPARE(model.precision.recipe, std::string("bf16_mixed"));
        ++megatron;
      }
      if (is_one_of({"llama", "mixtral"}) && !config.contains("head_dim")) {
        QCOMPARE(parameters(read("maxtext", maxtext_shapes(config)).config), parameters(std::string(file.text)));
        ++maxtext;
      }
    }
    QVERIFY2(megatron >= 8 && maxtext >= 5, qPrintable(QString("%1 %2").arg(megatron).arg(maxtext)));
  }

  // Each tensor-parallel device of Megatron has a multiple of 128 rows of the embedding, unless it is said otherwise.
  void a_vocabulary_of_megatron_is_padded_as_there() {
    const auto rows = [](const std::string& arguments) {
      const std::string shape = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 ";
      return json::parse(read("megatron", shape + arguments).config)["vocab_size"].get<int64_t>();
    };
    QCOMPARE(rows("--vocab-size 50257"), int64_t{50304});
    QCOMPARE(rows("--vocab-size 50257 --tensor-model-parallel-size 8"), int64_t{51200});
    QCOMPARE(rows("--vocab-size 50257 --make-vocab-size-divisible-by 1"), int64_t{50257});
    QCOMPARE(rows("--vocab-size 50304"), int64_t{50304});
  }

  void names_of_other_programs_are_the_published_models() {
    QCOMPARE(read("torchtitan", "[model]\nname = \"llama3\"\nflavor = \"70B\"\n").config, text_of("llama-3.1-70b"));
    QCOMPARE(read("torchtitan", "[model]\nname = \"deepseek_v3\"\nflavor = \"671B\"\n").config, text_of("deepseek-v3"));
    QCOMPARE(read("maxtext", "model_name: \"mixtral-8x22b\"\n").config, text_of("mixtral-8x22b"));
    const PortableModel eights = read("torchtitan",
                                      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n"
                                      "converters = [\"float8\"]\n[training]\nseq_len = 8192\n");
    QCOMPARE(eights.sequence_length, int64_t{8192});
    QCOMPARE(eights.precision.compute, std::string("f8"));
    QCOMPARE(eights.precision.parameters, std::string("f32"));
  }

  void each_name_that_an_error_offers_is_a_published_model() {
    int known = 0;
    for (const char* format : {"torchtitan", "maxtext"}) {
      const bool is_maxtext = std::string(format) == "maxtext";
      const auto of = [&](const QString& name) {
        return is_maxtext ? "model_name: " + name
                          : "[model]\nname = " + name.section(' ', 0, 0) + "\nflavor = " + name.section(' ', 1);
      };
      const std::string hint = error_of([&] { read(format, of("no model").toStdString()); }).hint;
      for (const QString& name : QString::fromStdString(hint).section(';', 0, 0).split(", ")) {
        const std::string config = read(format, of(name).toStdString()).config;
        QVERIFY2(std::ranges::count(published_model_files(), config, &LibraryFile::text) == 1, qPrintable(name));
        ++known;
      }
    }
    QVERIFY2(known >= 16, qPrintable(QString::number(known)));
  }

  // Each names the line, what is wrong and what would be right.
  void what_is_no_model_here_is_an_error_at_its_line() {
    const auto check = [](const char* format, const std::string& text, int line, const char* word) {
      const std::vector<Error> errors = errors_of([&] { read(format, text); });
      QVERIFY2(!errors.empty(), text.c_str());
      QCOMPARE(errors.front().place.line, line);
      QVERIFY2(errors.front().message.find(word) != std::string::npos, errors.front().message.c_str());
      for (const Error& error : errors)
        QVERIFY2(error.hint.find("--run") != std::string::npos, to_string(error).c_str());
    };
    check("torchtitan", "[model]\nname = \"llama3\"\nflavor = \"9B\"\n", 3, "llama3 9B");
    check("torchtitan", "[training]\nsteps = 3\n", 0, "model.name");
    check("maxtext", "steps: 3\nmodel_name: gpt5\n", 2, "gpt5");
    check("maxtext", "decoder_block: gemma2\n", 1, "gemma2");
    const std::string shape = "--num-layers 2 --hidden-size 64\n--num-attention-heads 4 --seq-length 128\n";
    check("megatron", shape, 0, "vocab-size");
    check("megatron", shape + "--vocab-size 100 --squared-relu\n", 3, "squared-relu");
    check("megatron", shape + "--vocab-size 100\n--swiglu\n", 4, "swiglu");
    check("megatron", shape + "--vocab-size 100\n--num-experts 4\n", 4, "num-experts");
    QVERIFY(errors_of([&] { read("megatron", shape + "--vocab-size 100\n"); }).empty());
  }
};

REGISTER_TEST(PortableModelTest)

}  // namespace portable_model_test

#include "portable_model_test.moc"
