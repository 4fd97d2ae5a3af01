#include "gui/planning/chosen_network.h"

#include <QSettings>
#include <QStringList>
#include <mutex>
#include <utility>

namespace shardscope {

namespace {

constexpr const char *hosts_key = "run/hosts", *links_key = "run/links";

std::mutex mutex;
std::string hosts;
std::vector<AxisLink> links;
std::optional<DeviceProfile> watched;

QStringList as_settings(const std::vector<AxisLink>& links) {
  QStringList texts;
  for (const AxisLink& link : links) {
    texts << QString("%1 %2 %3")
                 .arg(QString::fromStdString(link.axis))
                 .arg(link.bytes_per_second, 0, 'g', 17)
                 .arg(link.latency, 0, 'g', 17);
  }
  return texts;
}

std::vector<AxisLink> from_settings(const QStringList& texts) {
  std::vector<AxisLink> links;
  for (const QString& text : texts) {
    const QStringList words = text.split(' ');
    AxisLink link{words.value(0).toStdString(), words.value(1).toDouble(), words.value(2).toDouble()};
    if (link.bytes_per_second > 0 && link.latency > 0) links.push_back(std::move(link));
  }
  return links;
}

}  // namespace

std::string chosen_hosts() {
  const std::lock_guard lock(mutex);
  return hosts;
}

void choose_hosts(std::string list) {
  const std::lock_guard lock(mutex);
  if (list == hosts) return;
  hosts = std::move(list);
  QSettings().setValue(hosts_key, QString::fromStdString(hosts));
}

std::vector<AxisLink> chosen_links() {
  const std::lock_guard lock(mutex);
  return links;
}

void choose_links(std::vector<AxisLink> chosen) {
  const std::lock_guard lock(mutex);
  if (chosen == links) return;
  links = std::move(chosen);
  QSettings().setValue(links_key, as_settings(links));
}

std::optional<DeviceProfile> watched_profile() {
  const std::lock_guard lock(mutex);
  return watched;
}

void watch_profile(std::optional<DeviceProfile> profile) {
  const std::lock_guard lock(mutex);
  watched = std::move(profile);
}

void restore_chosen_network() {
  const std::lock_guard lock(mutex);
  const QSettings settings;
  hosts = settings.value(hosts_key).toString().toStdString();
  links = from_settings(settings.value(links_key).toStringList());
}

}  // namespace shardscope
