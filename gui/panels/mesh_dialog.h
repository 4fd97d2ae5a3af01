#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QTableWidget>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/machine.h"

class QDialogButtonBox;
class QLabel;

namespace shardscope {

// Adds, removes, renames, resizes and orders the axes of a config's mesh, says in which order the devices lie on it,
// on which hosts, and what joins these; shows over which links of the machine each axis then communicates. Illegal
// meshes are explained and cannot be accepted; what an edit would take with it is said.
class MeshDialog : public QDialog {
  Q_OBJECT
 public:
  explicit MeshDialog(const RunConfig& config, QWidget* parent = nullptr);
  std::vector<MeshAxis> axes() const;
  // By what name each of them went before; empty for a new one.
  std::vector<std::string> names_before() const;
  // As it is written: the device at each place of the grid, last axis fastest, "0-3, 8, 4-7"; empty: 0, 1, 2...
  std::vector<int> devices() const;
  std::string hosts() const;  // "h0:4,h1:4"; empty: this machine alone
  // What joins them. Throws Failure (code network) at what is no number.
  NetworkChoice network() const;

 private:
  void add_row(const MeshAxis& axis, const std::string& before);
  void move_row(int by);
  void show_links(const QStringList& links);
  QString cell(int row, int column) const;
  void check();
  // Per axis the name of the machine's level that its groups reach over; none for an axis of one device.
  QStringList links_of(const RunConfig& config);

  QWidget* make_order();
  void propose_order(int choice);

  const RunConfig& config_;
  // The machine of the last check: its file is read again only where the choice or the ranks of hosts are others.
  struct KnownMachine {
    std::string choice;
    std::vector<int> ranks_per_host;
    Machine machine;
  };
  std::optional<KnownMachine> known_;
  QTableWidget* table_;
  QLineEdit* order_;
  QLineEdit *hosts_, *rate_, *latency_;
  QLabel* verdict_;
  QDialogButtonBox* buttons_;
};

// "0-3, 8" and back; reading throws Failure (code device_order) at what is no list of devices.
std::string device_order_text(const std::vector<int>& devices);
std::vector<int> parse_device_order(const std::string& text);

}  // namespace shardscope
