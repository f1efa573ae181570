locals {
  settings = {
    PUBLIC_URL         = var.public_url
    STORAGE_URL        = "gs://${google_storage_bucket.files.name}"
    TEMPORAL_ADDRESS   = temporalcloud_namespace.service.endpoints.grpc_address
    TEMPORAL_NAMESPACE = temporalcloud_namespace.service.id
    CORS_ORIGINS       = join(",", var.cors_origins)
    # Cloud Run ends a container 10 s after SIGTERM: streams are told to resume, requests have 8 s.
    SHUTDOWN_GRACE_SECONDS = "8"
  }
  api_secrets = {
    DATABASE_URL      = "database-url"
    ENCRYPTION_KEY    = "encryption-key"
    TEMPORAL_API_KEY  = "temporal-api-key"
    ANTHROPIC_API_KEY = "anthropic-api-key"
  }
}

resource "google_cloud_run_v2_service" "api" {
  name                = "agent-session-api"
  location            = var.region
  ingress             = "INGRESS_TRAFFIC_ALL"
  deletion_protection = false
  depends_on          = [google_secret_manager_secret_iam_member.reader]

  template {
    service_account = google_service_account.role["api"].email
    # A stream is one request; clients resume a longer one with Last-Event-ID.
    timeout                          = "3600s"
    max_instance_request_concurrency = var.streams_per_instance

    scaling {
      min_instance_count = 2
      max_instance_count = var.max_api_instances
    }

    vpc_access {
      egress = "PRIVATE_RANGES_ONLY"
      network_interfaces {
        network    = google_compute_network.service.id
        subnetwork = google_compute_subnetwork.service.id
      }
    }

    containers {
      image = var.image
      args  = ["api"]

      ports {
        container_port = 8080
      }

      resources {
        limits = {
          cpu    = "1"
          memory = "1Gi"
        }
        # The sweep, the feed and the key watch work between requests too.
        cpu_idle = false
      }

      dynamic "env" {
        for_each = local.settings
        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = local.api_secrets
        content {
          name = env.key
          value_source {
            secret_key_ref {
              secret  = google_secret_manager_secret.service[env.value].secret_id
              version = "latest"
            }
          }
        }
      }

      startup_probe {
        http_get {
          path = "/readyz"
        }
        period_seconds    = 2
        failure_threshold = 30
      }

      liveness_probe {
        http_get {
          path = "/healthz"
        }
      }
    }
  }
}

# The service has keys of its own.
resource "google_cloud_run_v2_service_iam_member" "public" {
  name     = google_cloud_run_v2_service.api.name
  location = var.region
  role     = "roles/run.invoker"
  member   = "allUsers"
}

resource "google_cloud_run_v2_job" "migrate" {
  name                = "agent-session-migrate"
  location            = var.region
  deletion_protection = false
  depends_on          = [google_secret_manager_secret_iam_member.reader]

  template {
    template {
      service_account = google_service_account.role["migrate"].email
      max_retries     = 0
      vpc_access {
        egress = "PRIVATE_RANGES_ONLY"
        network_interfaces {
          network    = google_compute_network.service.id
          subnetwork = google_compute_subnetwork.service.id
        }
      }
      containers {
        image = var.image
        args  = ["migrate"]
        env {
          name = "DATABASE_URL"
          value_source {
            secret_key_ref {
              secret  = google_secret_manager_secret.service["database-url"].secret_id
              version = "latest"
            }
          }
        }
      }
    }
  }
}
