#include "gui/compare/plan_quantities.h"

#include <fmt/format.h>

#include <QCoreApplication>
#include <cmath>

#include "engine/base/units.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

constexpr double billion = 1e9;

std::string whole_text(double value) { return std::to_string(std::llround(value)); }
std::string digits_text(double value) { return fmt::format("{:.4g}", value); }

}  // namespace

PlanFacts::PlanFacts(const Plan& plan, const Utilisation& use, int64_t collectives)
    : totals(plan.totals),
      use(use),
      collectives(collectives),
      exposed_seconds(plan.simulation.most_exposed()),
      memory_limit_bytes(plan.memory_limit_bytes),
      evidence(plan.machine.evidence),
      software(plan.stack.name),
      price_per_device_hour(plan.machine.price_per_device_hour) {}

QString PlanQuantity::title() const { return QCoreApplication::translate("Quantity", untranslated_title); }
QString PlanQuantity::tip() const { return QCoreApplication::translate("Quantity", untranslated_tip); }
QString PlanQuantity::text(double number) const { return qt(format(number)); }

std::optional<double> PlanQuantity::of(const PlanFacts& plan) const {
  const double number = value(plan);
  return may_be_unknown && number <= 0 ? std::nullopt : std::optional(number);
}

namespace quantities {

const PlanQuantity memory{QT_TRANSLATE_NOOP("Quantity", "Memory"),
                          QT_TRANSLATE_NOOP("Quantity", "Memory of all arrays on the heaviest device."),
                          [](const PlanFacts& plan) { return double(plan.totals.device_bytes); }, bytes_text};
const PlanQuantity limit{
    QT_TRANSLATE_NOOP("Quantity", "A device has"),
    QT_TRANSLATE_NOOP("Quantity", "What a device may hold: the run file's limit, else what the machine has."),
    [](const PlanFacts& plan) { return double(plan.memory_limit_bytes); },
    bytes_text,
    false,
    true};
const PlanQuantity sent{QT_TRANSLATE_NOOP("Quantity", "Sent a step"),
                        QT_TRANSLATE_NOOP("Quantity", "Bytes that each device sends in a training step."),
                        [](const PlanFacts& plan) { return plan.totals.wire_bytes_per_device; }, bytes_text};
const PlanQuantity time{QT_TRANSLATE_NOOP("Quantity", "Time a step"),
                        QT_TRANSLATE_NOOP("Quantity", "What the cost model predicts."),
                        [](const PlanFacts& plan) { return plan.totals.seconds_per_step; }, seconds_text};
const PlanQuantity exposed{
    QT_TRANSLATE_NOOP("Quantity", "Exposed a step"),
    QT_TRANSLATE_NOOP("Quantity", "Communication that nothing hides, on the stage where it is most."),
    [](const PlanFacts& plan) { return plan.exposed_seconds; }, seconds_text};
const PlanQuantity mfu{QT_TRANSLATE_NOOP("Quantity", "MFU"),
                       QT_TRANSLATE_NOOP("Quantity", "Model FLOPs a second, as a share of the devices' peak."),
                       [](const PlanFacts& plan) { return plan.use.mfu(); },
                       share_text,
                       true,
                       true};
const PlanQuantity hfu{
    QT_TRANSLATE_NOOP("Quantity", "HFU"),
    QT_TRANSLATE_NOOP("Quantity",
                      "Least time of the products that are executed, with those of what is recomputed, as a share of "
                      "the step. Below MFU where the program does less than the model's formula counts."),
    [](const PlanFacts& plan) { return plan.use.hfu(); },
    share_text,
    true,
    true};
const PlanQuantity tokens{QT_TRANSLATE_NOOP("Quantity", "Tokens/s a device"),
                          QT_TRANSLATE_NOOP("Quantity", "Tokens a second that one device trains on."),
                          [](const PlanFacts& plan) { return plan.use.tokens_per_second() / plan.use.devices; },
                          whole_text,
                          true,
                          true};
const PlanQuantity work{QT_TRANSLATE_NOOP("Quantity", "Work a step"),
                        QT_TRANSLATE_NOOP("Quantity", "Floating-point operations of each device."),
                        [](const PlanFacts& plan) { return plan.totals.flops_per_device; }, flops_text};
const PlanQuantity collectives{
    QT_TRANSLATE_NOOP("Quantity", "Collectives"),
    QT_TRANSLATE_NOOP("Quantity", "How many times a step the devices exchange parts of arrays."),
    [](const PlanFacts& plan) { return double(plan.collectives); }, whole_text};
const PlanQuantity hours{QT_TRANSLATE_NOOP("Quantity", "Device hours for 10\u2079 tokens"),
                         QT_TRANSLATE_NOOP("Quantity", "Device hours to train on 10\u2079 tokens."),
                         [](const PlanFacts& plan) { return plan.use.device_hours(billion); },
                         digits_text,
                         false,
                         true};
const PlanQuantity price{QT_TRANSLATE_NOOP("Quantity", "Price an hour"),
                         QT_TRANSLATE_NOOP("Quantity",
                                           "Of a device, in your currency: a click sets it, 0 is that of the "
                                           "machine's file. It is kept for the machine."),
                         [](const PlanFacts& plan) { return plan.price_per_device_hour; },
                         digits_text,
                         false,
                         true};
const PlanQuantity cost{
    QT_TRANSLATE_NOOP("Quantity", "Cost of 10\u2079 tokens"),
    QT_TRANSLATE_NOOP("Quantity", "At the price of an hour of a device."),
    [](const PlanFacts& plan) { return plan.use.device_hours(billion) * plan.price_per_device_hour; },
    digits_text,
    false,
    true};

}  // namespace quantities

}  // namespace shardscope
