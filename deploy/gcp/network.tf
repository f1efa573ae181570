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

# Workers reach models, MCP servers and Temporal Cloud from addresses that others can allow. A node with two workers may hold
# 400 model streams to one address, each with a port of its own.
resource "google_compute_router" "service" {
  name    = "agent-session-service"
  network = google_compute_network.service.id
}

resource "google_compute_router_nat" "service" {
  name                               = "agent-session-service"
  router                             = google_compute_router.service.name
  nat_ip_allocate_option             = "MANUAL_ONLY"
  nat_ips                            = google_compute_address.nat[*].self_link
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
  enable_dynamic_port_allocation     = true
  min_ports_per_vm                   = 1024
  max_ports_per_vm                   = 16384
  # Required by dynamic ports.
  enable_endpoint_independent_mapping = false

  log_config {
    enable = true
    filter = "ERRORS_ONLY"
  }
}

# 64,512 ports each: two serve 126 nodes with 1,024.
resource "google_compute_address" "nat" {
  count = var.nat_addresses
  name  = "agent-session-nat-${count.index}"
}

resource "google_compute_global_address" "peering" {
  name         = "cloud-sql"
  purpose      = "VPC_PEERING"
  address_type = "INTERNAL"
  # The range that deploy/kubernetes/network-policy.yaml lets pods reach.
  address       = "10.40.0.0"
  prefix_length = 20
  network       = google_compute_network.service.id
}

resource "google_service_networking_connection" "peering" {
  network                 = google_compute_network.service.id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.peering.name]
}
