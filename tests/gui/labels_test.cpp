#include <QPaintEngine>
#include <QPicture>
#include <QTest>

#include "gui/pages/layout_view.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace labels_test {

using namespace shardscope;

// Where the letters of a picture are.
class TextPlaces : public QPaintEngine {
 public:
  TextPlaces() : QPaintEngine(AllFeatures) {}
  bool begin(QPaintDevice*) override { return true; }
  bool end() override { return true; }
  Type type() const override { return User; }
  void updateState(const QPaintEngineState& state) override {
    if (state.state() & DirtyTransform) transform_ = state.transform();
  }
  void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
  void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
  void drawTextItem(const QPointF& at, const QTextItem& text) override {
    const QRectF place(at.x() + 1, at.y() - text.ascent() + 2, text.width() - 2, text.ascent() - 2);
    if (!text.text().trimmed().isEmpty()) texts.emplace_back(text.text(), transform_.mapRect(place));
  }

  std::vector<std::pair<QString, QRectF>> texts;

 private:
  QTransform transform_;
};

class TextDevice : public QPaintDevice {
 public:
  explicit TextDevice(QSize size) : size_(size) {}
  QPaintEngine* paintEngine() const override { return &engine; }
  mutable TextPlaces engine;

 protected:
  int metric(PaintDeviceMetric metric) const override {
    switch (metric) {
      case PdmWidth: return size_.width();
      case PdmHeight: return size_.height();
      case PdmDpiX:
      case PdmDpiY:
      case PdmPhysicalDpiX:
      case PdmPhysicalDpiY: return 96;
      case PdmDevicePixelRatio: return 1;
      case PdmDevicePixelRatioScaled: return qRound(devicePixelRatioFScale());
      default: return 32;
    }
  }

 private:
  QSize size_;
};

// Labels of layouts on large meshes.
class LabelsTest : public WindowCase {
  Q_OBJECT

  static RunConfig config(std::vector<MeshAxis> axes) {
    RunConfig config = made::small_gpt(1, 1, 1);
    for (auto& [name, value] : config.model.options) {
      if (name == "vocab_size") value = int64_t{16384};
      if (name == "embed_dim") value = int64_t{1024};
      if (name == "num_heads") value = int64_t{128};
    }
    config.mesh_axes = std::move(axes);
    config.sharding = {};
    std::vector<std::vector<std::string>> dims;
    for (const MeshAxis& axis : config.mesh_axes) dims.push_back({axis.name});
    return config;
  }

 private slots:
  void initTestCase() { prepare(); }
  void cleanup() { close_window(); }

  void no_label_is_painted_over_another_at_16384_devices_data() {
    QTest::addColumn<QString>("axes");
    QTest::newRow("one axis") << "data=16384";
    QTest::newRow("two axes") << "data=128 model=128";
    QTest::newRow("four axes") << "pod=4 data=16 fully_sharded=16 tensor_parallel=16";
    QTest::newRow("six axes") << "pod=4 data=8 fully_sharded=8 tensor_parallel=8 expert_parallel=4 context_parallel=2";
  }
  void no_label_is_painted_over_another_at_16384_devices() {
    QFETCH(QString, axes);
    std::vector<MeshAxis> mesh;
    for (const QString& axis : axes.split(' '))
      mesh.push_back({axis.section('=', 0, 0).toStdString(), axis.section('=', 1).toLongLong()});
    RunConfig run = config(mesh);
    const std::string first = mesh.front().name, last = mesh.back().name;
    set_spec(run, first, last);
    open_window(compiled_plans(), run, {1280, 800});
    window_->show_page("layout");
    auto* view = window_->findChild<LayoutView*>();
    for (const QSize& size : {QSize(1280, 800), QSize(900, 600)}) {
      window_->resize(size);
      QTRY_COMPARE_WITH_TIMEOUT(window_->size(), size.expandedTo(window_->minimumSizeHint()),
                                patience);  // six names need 1293 pixels
      for (const ParameterInfo& info : planner().parameters()) {
        selection().select_array(ParameterRef{info.path});
        QPicture picture;
        QPainter painter(&picture);
        view->render(&painter);
        painter.end();
        TextDevice device(view->size());
        QPainter player(&device);
        player.drawPicture(0, 0, picture);
        player.end();
        const auto& texts = device.engine.texts;
        QVERIFY(texts.size() > 4);
        for (size_t i = 0; i < texts.size(); ++i)
          for (size_t j = 0; j < i; ++j)
            QVERIFY2(
                !texts[i].second.intersects(texts[j].second),
                qPrintable(
                    QString("%1 over %2 in %3").arg(texts[i].first, texts[j].first, name_of(selection().array()))));
      }
    }
  }

 private:
  // Every matrix over the first axis, products also over the last.
  static void set_spec(RunConfig& config, const std::string& first, const std::string& last) {
    const auto fits = [&](const std::string& name, int64_t size) {
      for (const MeshAxis& axis : config.mesh_axes)
        if (axis.name == name) return size % axis.size == 0;
      return false;
    };
    for (const ParameterInfo& info : list_parameters(config)) {
      PartitionSpec spec;
      const Shape& shape = info.type.shape;
      if (fits(first, shape[0])) spec.dims = {{first}};
      if (shape.size() > 1 && first != last && fits(last, shape[1])) {
        spec.dims.resize(2);
        spec.dims[1] = {last};
      }
      if (!spec.dims.empty()) config.sharding.parameters.push_back({info.path, spec});
    }
  }
};

REGISTER_WINDOW_TEST(LabelsTest)

}  // namespace labels_test

#include "labels_test.moc"
