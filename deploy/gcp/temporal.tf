resource "temporalcloud_namespace" "service" {
  name           = "agent-session-service"
  regions        = [var.temporal_namespace_region]
  api_key_auth   = true
  retention_days = 14
}

# Without them turns start all the same, and cannot be found by project, session or model in Temporal's UI.
resource "temporalcloud_namespace_search_attribute" "turn" {
  for_each     = toset(["ProjectId", "SessionId", "ModelId", "WaitsFor"])
  namespace_id = temporalcloud_namespace.service.id
  name         = each.key
  type         = "keyword"
}

output "temporal" {
  value = {
    address   = temporalcloud_namespace.service.endpoints.grpc_address
    namespace = temporalcloud_namespace.service.id
  }
}
