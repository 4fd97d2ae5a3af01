#include "gui/document/key_schema.h"

#include "engine/config/json_type.h"
#include "engine/config/run_keys.h"
#include "gui/document/text.h"

namespace shardscope {

const JsonNode& key_schema(const QString& place) {
  const JsonNode* schema = &run_type(true).schema;
  for (const QString& key : place.split('.'))
    schema = object_schema(*schema).find("properties")->find(key.toStdString());
  return *schema;
}

QString key_description(const QString& place) { return qt(key_schema(place).find("description")->text).remove('`'); }

KeyRange key_range(const QString& place) {
  const JsonNode& schema = key_schema(place);
  return {schema.find("minimum")->integer, schema.find("maximum")->integer};
}

}  // namespace shardscope
