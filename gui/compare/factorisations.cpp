#include "gui/compare/factorisations.h"

#include <QStringList>

#include "gui/document/text.h"

namespace shardscope {
namespace {

struct Search {
  const std::vector<bool>& fixed;
  size_t most;
  std::vector<MeshAxis> axes;
  std::vector<std::vector<MeshAxis>> found;

  void go(size_t axis, int64_t rest) {
    if (found.size() == most) return;
    if (axis == axes.size()) {
      if (rest == 1) found.push_back(axes);
      return;
    }
    if (fixed[axis]) {
      if (axes[axis].size > 0 && rest % axes[axis].size == 0) go(axis + 1, rest / axes[axis].size);
      return;
    }
    for (int64_t size = rest; size >= 1; --size) {
      if (rest % size != 0) continue;
      axes[axis].size = size;
      go(axis + 1, rest / size);
    }
  }
};

// Of `devices` over so many axes: the product of the ways to give each prime power to them.
int64_t ordered_products(int64_t devices, int64_t axes) {
  if (axes == 0) return devices == 1 ? 1 : 0;
  int64_t count = 1;
  for (int64_t prime = 2; devices > 1; ++prime) {
    int64_t ways = 1;
    for (int64_t power = 1; devices % prime == 0; ++power) {
      devices /= prime;
      ways = ways * (power + axes - 1) / power;  // power + axes - 1 over power
    }
    count *= ways;
  }
  return count;
}

}  // namespace

std::vector<std::vector<MeshAxis>> factorisations(int64_t devices, const std::vector<MeshAxis>& axes,
                                                  const std::vector<bool>& fixed, size_t most) {
  Search search{fixed, most, axes, {}};
  if (devices > 0) search.go(0, devices);
  return std::move(search.found);
}

int64_t factorisation_count(int64_t devices, const std::vector<MeshAxis>& axes, const std::vector<bool>& fixed) {
  int64_t free = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!fixed[i]) {
      ++free;
    } else if (axes[i].size < 1 || devices % axes[i].size != 0) {
      return 0;
    } else {
      devices /= axes[i].size;
    }
  }
  return devices < 1 ? 0 : ordered_products(devices, free);
}

QString mesh_text(const std::vector<MeshAxis>& axes) {
  QStringList texts;
  for (const MeshAxis& axis : axes) texts << QString("%1=%2").arg(qt(axis.name)).arg(axis.size);
  return texts.isEmpty() ? QString("1") : texts.join(", ");
}

}  // namespace shardscope
