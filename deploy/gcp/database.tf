# A private address and no pooler: LISTEN needs a connection of its own to Postgres itself. REGIONAL replicates the disk
# synchronously: what was committed survives a failover.
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
      server_ca_mode  = "GOOGLE_MANAGED_CAS_CA"
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

# The name in the server's certificate, in the service's own network: clients verify it (sslmode=verify-full).
resource "google_dns_managed_zone" "database" {
  name       = "agent-session-database"
  dns_name   = google_sql_database_instance.service.dns_name
  visibility = "private"
  private_visibility_config {
    networks {
      network_url = google_compute_network.service.id
    }
  }
}

resource "google_dns_record_set" "database" {
  managed_zone = google_dns_managed_zone.database.name
  name         = google_sql_database_instance.service.dns_name
  type         = "A"
  ttl          = 60
  rrdatas      = [google_sql_database_instance.service.private_ip_address]
}

# The password is set by hand (docs/operations/gcp.md): Terraform's state holds none.
