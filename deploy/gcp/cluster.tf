# API and workers run beside each other. A model call lasts minutes and an upload has up to 100 MiB: a pod may take its
# terminationGracePeriodSeconds to drain, and the Gateway passes bodies of any size and streams of any length.
resource "google_container_cluster" "service" {
  name                = "agent-session-service"
  location            = var.region
  enable_autopilot    = true
  network             = google_compute_network.service.id
  subnetwork          = google_compute_subnetwork.service.id
  deletion_protection = true

  ip_allocation_policy {
    cluster_secondary_range_name  = "pods"
    services_secondary_range_name = "services"
  }

  private_cluster_config {
    enable_private_nodes = true
  }

  # Who may reach the control plane's address: nobody but the operators' networks.
  master_authorized_networks_config {
    dynamic "cidr_blocks" {
      for_each = var.operator_networks
      content {
        cidr_block = cidr_blocks.value
      }
    }
  }

  gateway_api_config {
    channel = "CHANNEL_STANDARD"
  }

  secret_manager_config {
    enabled = true
  }
}

# The address and the certificate of the Gateway (deploy/kubernetes/gateway.yaml).
resource "google_compute_global_address" "api" {
  name = "agent-session-api"
}

resource "google_certificate_manager_dns_authorization" "api" {
  name   = "agent-session-api"
  domain = var.domain
}

resource "google_certificate_manager_certificate" "api" {
  name = "agent-session-api"
  managed {
    domains            = [var.domain]
    dns_authorizations = [google_certificate_manager_dns_authorization.api.id]
  }
}

resource "google_certificate_manager_certificate_map" "api" {
  name = "agent-session-api"
}

resource "google_certificate_manager_certificate_map_entry" "api" {
  name         = "agent-session-api"
  map          = google_certificate_manager_certificate_map.api.name
  hostname     = var.domain
  certificates = [google_certificate_manager_certificate.api.id]
}
