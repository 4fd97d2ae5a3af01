#pragma once

#include <QComboBox>
#include <QLabel>
#include <QWidget>
#include <vector>

#include "engine/base/error.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/partition_spec.h"

namespace shardscope {

// What one dimension that is split over `now` may be split over next: nothing, an axis, what it is split over with the
// innermost left out, and with one more axis inside. So every order of axes is some choices away, and a list of them
// has some entries an axis.
std::vector<std::vector<std::string>> spec_choices(const std::vector<MeshAxis>& axes,
                                                   const std::vector<std::string>& now);

// An array whose spec is edited.
struct EditedSpec {
  QString name;
  Shape shape;
  PartitionSpec spec;
  std::vector<Error> errors;  // those at its place in the run file
  QString place;
};

// One drop-down per dimension of an array, with entries of a spec as JAX writes them; the first letter of an axis, or
// of None, chooses the next one that begins with it. Choices that would be illegal (axis used by another dimension,
// size that does not divide) are grey and say why. A field with an error has a red frame and the error as its tool tip.
// Of several arrays there is a field for each dimension that any of them has; where they differ it says "mixed".
class SpecEditor : public QWidget {
  Q_OBJECT
 public:
  enum class Form { compact, labelled };
  explicit SpecEditor(Form form, QWidget* parent = nullptr);

  // `pipeline`: the axis along which the pipeline has its stages, which can split no array; empty: none.
  void show_specs(std::vector<MeshAxis> axes, const std::string& pipeline, const std::vector<EditedSpec>& arrays);
  int rank() const { return static_cast<int>(fields_.size()); }
  QComboBox* field(int dim) const { return fields_.at(dim).box; }

 signals:
  void dimChosen(int dim, const std::vector<std::string>& axes);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Field {
    QLabel* label = nullptr;
    QComboBox* box = nullptr;
    std::vector<std::vector<std::string>> choices;
  };
  static void choose_next(const Field& field, QChar letter);
  void make_fields(int rank);
  static void fill(Field& field, int dim, const std::vector<MeshAxis>& axes, const std::vector<EditedSpec>& arrays);

  Form form_;
  std::vector<Field> fields_;
};

}  // namespace shardscope
