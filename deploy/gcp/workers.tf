# GKE and not a Cloud Run worker pool: a model call lasts minutes, and one that is cut off is paid for twice. A pod may take
# terminationGracePeriodSeconds (deploy/kubernetes/worker.yaml); Cloud Run's services are killed 10 s after SIGTERM, and of
# its worker pools we found no longer time documented.
resource "google_container_cluster" "workers" {
  name                = "agent-session-workers"
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

  secret_manager_config {
    enabled = true
  }
}
