#include "gui/panels/mesh_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <string_view>

#include "engine/base/number_text.h"
#include "engine/compile/plan_request.h"
#include "engine/config/host_list.h"
#include "engine/machine/machine_prices.h"
#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"

namespace shardscope {
namespace {

Failure no_order(const std::string& message) {
  return Failure({"device_order", message, "mesh.devices", "numbers and ranges, such as 0-3, 8, 4-7"});
}

enum Column { name_column, size_column, link_column, columns };
constexpr double gigabyte = 1e9, microsecond = 1e-6;

QString number_text(const std::optional<double>& number, double unit) {
  return number ? QString::number(*number / unit) : QString();
}

// What a field says, in units of `unit`; nothing where it is empty. `shown`: what it was made of, which has more
// digits.
std::optional<double> number_in(const QLineEdit& field, const std::optional<double>& shown, double unit,
                                const char* place, const char* example) {
  const QString text = field.text().trimmed();
  if (text == number_text(shown, unit)) return shown;
  if (text.isEmpty()) return std::nullopt;
  bool is_number = false;
  const double number = text.toDouble(&is_number);
  if (is_number && number > 0 && number <= 1e9) return number * unit;
  throw Failure({"network", "the network between hosts: '" + text.toStdString() + "' is no such number",
                 std::string("machine.levels.network.") + place, example});
}

int device_number(std::string_view text) {
  const auto number = number_of<int>(text);
  if (!number || *number < 0 || *number >= Mesh::max_devices)
    throw no_order("'" + std::string(text) + "' is no device");
  return *number;
}

// Devices counted with the first axis fastest.
std::vector<int> first_axis_fastest(const Mesh& mesh) {
  std::vector<int> order;
  for (int position = 0; position < mesh.device_count(); ++position) {
    int64_t device = 0, stride = 1;
    for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
      device += mesh.coordinate(mesh.devices()[position], axis) * stride;
      stride *= mesh.axis_size(axis);
    }
    order.push_back(static_cast<int>(device));
  }
  return order;
}

// Every other line of the last axis backwards, so that neighbours have neighbouring numbers.
std::vector<int> back_and_forth(const Mesh& mesh) {
  std::vector<int> order;
  const auto line = static_cast<int>(mesh.axis_size(static_cast<AxisIndex>(mesh.axis_count() - 1)));
  for (int position = 0; position < mesh.device_count(); ++position) {
    const int row = position / line, column = position % line;
    order.push_back(row * line + (row % 2 ? line - 1 - column : column));
  }
  return order;
}

}  // namespace

std::string device_order_text(const std::vector<int>& devices) {
  std::string text;
  for (size_t i = 0; i < devices.size();) {
    size_t last = i;
    while (last + 1 < devices.size() && devices[last + 1] == devices[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(devices[i]);
    if (last > i) text += "-" + std::to_string(devices[last]);
    i = last + 1;
  }
  return text;
}

std::vector<int> parse_device_order(const std::string& text) {
  std::vector<int> devices;
  for (const QString& part : qt(text).split(',', Qt::SkipEmptyParts)) {
    const QStringList ends = part.trimmed().split('-');
    if (ends.size() > 2) throw no_order("'" + part.trimmed().toStdString() + "' is no device");
    const int first = device_number(ends.front().trimmed().toStdString());
    const int last = device_number(ends.back().trimmed().toStdString());
    if (last < first) throw no_order("'" + part.trimmed().toStdString() + "' runs backwards");
    for (int device = first; device <= last; ++device) devices.push_back(device);
    if (std::ssize(devices) > Mesh::max_devices) throw no_order("the order lists too many devices");
  }
  return devices;
}

MeshDialog::MeshDialog(const RunConfig& config, QWidget* parent)
    : QDialog(parent),
      config_(config),
      table_(new QTableWidget(0, columns, this)),
      order_(new QLineEdit(qt(device_order_text(config.mesh_devices)), this)),
      hosts_(new QLineEdit(qt(config.hosts), this)),
      rate_(new QLineEdit(this)),
      latency_(new QLineEdit(this)),
      verdict_(new QLabel(this)),
      buttons_(new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this)) {
  setWindowTitle(tr("Mesh axes"));
  table_->setHorizontalHeaderLabels({tr("Name"), tr("Size"), tr("Link")});
  table_->horizontalHeader()->setSectionResizeMode(name_column, QHeaderView::Stretch);
  table_->horizontalHeaderItem(link_column)
      ->setToolTip(tr(
          "The level of the machine over which an axis's groups communicate, by the order of the devices and hosts."));
  table_->verticalHeader()->hide();
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  for (const MeshAxis& axis : config.mesh_axes) add_row(axis, axis.name);
  connect(table_, &QTableWidget::itemChanged, this, &MeshDialog::check);

  auto* side = new QVBoxLayout;
  const auto button = [&](const QString& text, auto action) {
    auto* made = new QPushButton(text, this);
    connect(made, &QPushButton::clicked, this, action);
    side->addWidget(made);
  };
  button(tr("&Add"), [this] {
    add_row({"axis" + std::to_string(table_->rowCount()), 1}, {});
    check();
  });
  button(tr("&Remove"), [this] {
    if (table_->currentRow() >= 0) table_->removeRow(table_->currentRow());
    check();
  });
  button(tr("Move &up"), [this] { move_row(-1); });
  button(tr("Move &down"), [this] { move_row(1); });
  side->addStretch();

  auto* body = new QHBoxLayout;
  body->addWidget(table_, 1);
  body->addLayout(side);
  verdict_->setWordWrap(true);
  connect(buttons_, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons_, &QDialogButtonBox::rejected, this, &QDialog::reject);
  filled(new QVBoxLayout(this),
         {new QLabel(tr("Outermost axis first. Specs and rules follow an axis to its new name."), this),
          {body, 1},
          make_order(),
          verdict_,
          buttons_});
  resize(560, 380);
  check();
}

QWidget* MeshDialog::make_order() {
  auto* part = new QWidget(this);
  order_->setObjectName("deviceOrder");
  order_->setPlaceholderText("0, 1, 2\u2026");
  order_->setToolTip(
      tr("The device (rank) at each place of the mesh, the last axis fastest: 0-3, 8, 4-7. Empty: 0, 1, 2\u2026"));
  auto* proposals = new QComboBox(part);
  proposals->setObjectName("orders");
  proposals->setToolTip(tr("Fills in an order of the devices."));
  proposals->addItems({tr("Propose\u2026"), tr("Last axis fastest"), tr("First axis fastest"), tr("Back and forth")});
  hosts_->setObjectName("hosts");
  hosts_->setPlaceholderText(tr("this machine alone"));
  hosts_->setToolTip(
      tr("The hosts of a run, with how many devices each takes: h0:4,h1:4. Devices 0, 1, 2\u2026 fill "
         "them in this order."));
  const NetworkChoice network = network_choice(config_.machine);
  rate_->setText(number_text(network.bytes_per_second, gigabyte));
  latency_->setText(number_text(network.latency, microsecond));
  rate_->setObjectName("networkRate");
  rate_->setPlaceholderText(tr("GB/s"));
  rate_->setToolTip(tr("What a host can send over the network in a second, in GB. Empty: as the machine says."));
  latency_->setObjectName("networkLatency");
  latency_->setPlaceholderText(tr("\u00b5s"));
  latency_->setToolTip(
      tr("How long a message between hosts takes to begin, in microseconds. Empty: as the machine "
         "says."));
  auto* between = new QHBoxLayout;
  between->addWidget(rate_);
  between->addWidget(latency_);
  auto* row = new QHBoxLayout;
  row->addWidget(order_, 1);
  row->addWidget(proposals);
  auto* form = new QFormLayout(part);
  form->setContentsMargins(0, 0, 0, 0);
  form->addRow(tr("&Device order"), row);
  form->addRow(tr("&Hosts"), hosts_);
  form->addRow(tr("&Network"), between);
  static_cast<QLabel*>(form->labelForField(between))->setBuddy(rate_);
  static_cast<QLabel*>(form->labelForField(row))->setBuddy(order_);
  connect(order_, &QLineEdit::textChanged, this, &MeshDialog::check);
  for (QLineEdit* field : {hosts_, rate_, latency_}) connect(field, &QLineEdit::textChanged, this, &MeshDialog::check);
  connect(proposals, &QComboBox::activated, this, [this, proposals](int choice) {
    propose_order(choice);
    proposals->setCurrentIndex(0);
  });
  return part;
}

void MeshDialog::propose_order(int choice) try {
  const Mesh mesh(axes());
  order_->setText(choice == 2   ? qt(device_order_text(first_axis_fastest(mesh)))
                  : choice == 3 ? qt(device_order_text(back_and_forth(mesh)))
                                : QString());
} catch (const Failure&) {
  check();
}

std::vector<int> MeshDialog::devices() const { return parse_device_order(order_->text().toStdString()); }

std::string MeshDialog::hosts() const { return hosts_->text().trimmed().toStdString(); }

QString MeshDialog::cell(int row, int column) const {
  const QTableWidgetItem* item = table_->item(row, column);
  return item ? item->text().trimmed() : QString();
}

std::vector<MeshAxis> MeshDialog::axes() const {
  std::vector<MeshAxis> axes;
  for (int row = 0; row < table_->rowCount(); ++row)
    axes.push_back({cell(row, name_column).toStdString(), cell(row, size_column).toLongLong()});
  return axes;
}

NetworkChoice MeshDialog::network() const {
  const NetworkChoice known = network_choice(config_.machine);
  return {number_in(*rate_, known.bytes_per_second, gigabyte, "bytes_per_second", "GB/s, such as 12.5"),
          number_in(*latency_, known.latency, microsecond, "latency", "microseconds, such as 10")};
}

std::vector<std::string> MeshDialog::names_before() const {
  std::vector<std::string> names;
  for (int row = 0; row < table_->rowCount(); ++row)
    names.push_back(table_->item(row, 0)->data(Qt::UserRole).toString().toStdString());
  return names;
}

void MeshDialog::add_row(const MeshAxis& axis, const std::string& before) {
  const int row = table_->rowCount();
  table_->insertRow(row);
  auto* name = new QTableWidgetItem(qt(axis.name));
  name->setData(Qt::UserRole, qt(before));
  table_->setItem(row, 0, name);
  auto* number = new QTableWidgetItem(QString::number(axis.size));
  number->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  table_->setItem(row, size_column, number);
  auto* link = new QTableWidgetItem;
  link->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
  table_->setItem(row, link_column, link);
}

void MeshDialog::show_links(const QStringList& links) {
  const QSignalBlocker quiet(table_);
  for (int row = 0; row < table_->rowCount(); ++row) {
    if (QTableWidgetItem* link = table_->item(row, link_column)) link->setText(links.value(row));
  }
}

void MeshDialog::move_row(int by) {
  const int from = table_->currentRow(), to = from + by;
  if (from < 0 || to < 0 || to >= table_->rowCount()) return;
  for (int column = 0; column < columns; ++column) {
    QTableWidgetItem* item = table_->takeItem(from, column);
    table_->setItem(from, column, table_->takeItem(to, column));
    table_->setItem(to, column, item);
  }
  table_->setCurrentCell(to, 0);
}

QStringList MeshDialog::links_of(const RunConfig& config) {
  const std::vector<int> ranks = ranks_per_host(hosts_of(config));
  if (!known_ || known_->choice != config.machine || known_->ranks_per_host != ranks)
    known_ = KnownMachine{config.machine, ranks, chosen_machine(config.machine, ranks)};
  const Mesh mesh(config.mesh_axes, config.mesh_devices);
  const MachinePrices prices(known_->machine, mesh.device_count());
  QStringList links;
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    const int level = prices.place(mesh, {static_cast<AxisIndex>(axis)}).level();
    links << (level < 0 ? QString() : qt(prices.machine().levels[static_cast<size_t>(level)].name));
  }
  return links;
}

void MeshDialog::check() {
  QString text;
  QStringList links;
  bool legal = true;
  try {
    const Mesh axes_alone(axes());
    const int count = axes_alone.device_count();
    network();
    for (QLineEdit* field : {rate_, latency_}) field->setEnabled(!hosts().empty());
    text = counted_text(count, "device");
    const bool as_it_was = devices() == config_.mesh_devices;
    if (as_it_was && loses_device_order(config_, axes()))
      text += tr("<br>The order of the devices goes back to 0, 1, 2\u2026: it was for %1 of them.")
                  .arg(config_.mesh_devices.size());
    else Mesh(axes(), devices());
    if (!hosts().empty()) {
      QStringList shares;
      for (const HostRanks& host : lay_over_hosts(parse_host_list(hosts(), "hosts"), count, "hosts"))
        shares << tr("%1 has %2").arg(qt(host.name)).arg(host.ranks);
      text += "<br>" + shares.join(", ").toHtmlEscaped();
    }
    RunConfig edited = config_;
    edited.mesh_axes = axes();
    edited.mesh_devices = as_it_was && loses_device_order(config_, axes()) ? std::vector<int>() : devices();
    edited.hosts = hosts();
    edited.machine = with_network(edited.machine, hosts().empty() ? NetworkChoice() : network());
    links = links_of(edited);
  } catch (const Failure& failure) {
    legal = false;
    text = in_color(theme().error, errors_text(failure.errors()).toHtmlEscaped().replace("\n", "<br>"));
  }
  show_links(links);
  verdict_->setText(text);
  buttons_->button(QDialogButtonBox::Ok)->setEnabled(legal);
}

}  // namespace shardscope
