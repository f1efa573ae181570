# A private address and no pooler: LISTEN needs a connection of its own to Postgres itself.
resource "google_sql_database_instance" "service" {
  name                = "agent-session-service"
  database_version    = "POSTGRES_17"
  deletion_protection = true
  depends_on          = [google_service_networking_connection.peering]

  settings {
    tier              = var.database_tier
    edition           = "ENTERPRISE"
    availability_type = "REGIONAL"
    disk_type         = "PD_SSD"
    disk_autoresize   = true

    ip_configuration {
      ipv4_enabled    = false
      private_network = google_compute_network.service.id
      ssl_mode        = "ENCRYPTED_ONLY"
    }

    backup_configuration {
      enabled                        = true
      point_in_time_recovery_enabled = true
      backup_retention_settings {
        retained_backups = 14
      }
    }

    # Processes x (DATABASE_POOL_SIZE + 1 for LISTEN), with room for a rolling restart (docs/operations/gcp.md).
    database_flags {
      name  = "max_connections"
      value = "400"
    }
  }
}

resource "google_sql_database" "service" {
  name     = "service"
  instance = google_sql_database_instance.service.name
}

# The password is set by hand (docs/operations/gcp.md): Terraform's state holds none.
