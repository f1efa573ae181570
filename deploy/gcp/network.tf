resource "google_compute_network" "service" {
  name                    = "agent-session-service"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "service" {
  name                     = "agent-session-service"
  network                  = google_compute_network.service.id
  ip_cidr_range            = "10.10.0.0/20"
  private_ip_google_access = true
  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.20.0.0/16"
  }
  secondary_ip_range {
    range_name    = "services"
    ip_cidr_range = "10.30.0.0/20"
  }
}

# Workers reach models, MCP servers and Temporal Cloud from addresses that others can allow.
resource "google_compute_router" "service" {
  name    = "agent-session-service"
  network = google_compute_network.service.id
}

resource "google_compute_router_nat" "service" {
  name                               = "agent-session-service"
  router                             = google_compute_router.service.name
  nat_ip_allocate_option             = "AUTO_ONLY"
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
}

resource "google_compute_global_address" "peering" {
  name          = "cloud-sql"
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  prefix_length = 20
  network       = google_compute_network.service.id
}

resource "google_service_networking_connection" "peering" {
  network                 = google_compute_network.service.id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.peering.name]
}
