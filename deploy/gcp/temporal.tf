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

# Temporal Cloud by a private address, where a service attachment is given.
resource "google_compute_address" "temporal" {
  count        = var.temporal_service_attachment == "" ? 0 : 1
  name         = "agent-session-temporal"
  subnetwork   = google_compute_subnetwork.service.id
  address_type = "INTERNAL"
}

resource "google_compute_forwarding_rule" "temporal" {
  count                 = length(google_compute_address.temporal)
  name                  = "agent-session-temporal"
  target                = var.temporal_service_attachment
  network               = google_compute_network.service.id
  ip_address            = google_compute_address.temporal[0].id
  load_balancing_scheme = ""
}

resource "google_dns_managed_zone" "temporal" {
  count      = length(google_compute_address.temporal)
  name       = "agent-session-temporal"
  dns_name   = "tmprl.cloud."
  visibility = "private"
  private_visibility_config {
    networks {
      network_url = google_compute_network.service.id
    }
  }
}

resource "google_dns_record_set" "temporal" {
  count        = length(google_compute_address.temporal)
  managed_zone = google_dns_managed_zone.temporal[0].name
  name         = "${split(":", temporalcloud_namespace.service.endpoints.grpc_address)[0]}."
  type         = "A"
  ttl          = 60
  rrdatas      = [google_compute_address.temporal[0].address]
}

output "temporal" {
  value = {
    address   = temporalcloud_namespace.service.endpoints.grpc_address
    namespace = temporalcloud_namespace.service.id
  }
}
