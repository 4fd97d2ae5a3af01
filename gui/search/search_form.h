#pragma once

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QLineEdit>
#include <QScrollArea>
#include <QSpinBox>
#include <QWidget>
#include <functional>
#include <vector>

#include "gui/search/search_wish.h"

namespace shardscope {

// What a search is to find: the devices, which values each number of a strategy may have (a single one is locked),
// limits of memory and time, the objective. The fields flow into as many columns as the width has room for.
class SearchForm : public QScrollArea {
  Q_OBJECT
 public:
  explicit SearchForm(QWidget* parent = nullptr);

  SearchWish wish() const;
  int64_t devices() const { return devices_->value(); }
  void set_devices(int64_t devices);
  QString fault() const;  // of the first field that cannot be read, or that no strategy has; empty: all can be
  // Errors of search_request() at their fields, until these are edited.
  void show_refusals(const std::vector<Error>& errors);
  void focus_fault();
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 signals:
  void changed();
  void startWanted();  // by Return in a field

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Number {
    std::string key;
    QLineEdit* line;
    QString tip;
  };

  using Choices = std::vector<std::pair<QString, std::vector<std::string>>>;  // with their values
  struct Words {
    std::string key;
    QComboBox* box;
    std::vector<std::vector<std::string>> values;  // of each choice
  };

  void add(const QString& caption, const QString& name, const QString& tip, QWidget* field);
  void add_number(const std::string& key, const QString& caption, const QString& tip);
  // A list of choices for a word of the strategy; without values: what the search chooses by itself.
  void add_words(const std::string& key, const QString& caption, const QString& tip, const Choices& choices);
  QString fault_of(const Number& number) const;
  void judge(const Number& number);
  void arrange();

  QWidget* inner_;
  QGridLayout* grid_;
  std::vector<std::pair<QWidget*, QWidget*>> rows_;  // label and field
  std::vector<Number> numbers_;
  std::vector<Words> words_;
  QSpinBox *devices_, *seconds_;
  QComboBox* objective_;
  QDoubleSpinBox *memory_, *time_;
  int columns_ = 0;
};

}  // namespace shardscope
