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

    # Roles log in as Google accounts: DATABASE_AUTH=google_iam.
    database_flags {
      name  = "cloudsql.iam_authentication"
      value = "on"
    }
    database_flags {
      name  = "log_lock_waits"
      value = "on"
    }
    database_flags {
      name  = "log_min_duration_statement"
      value = "1000"
    }
    database_flags {
      name  = "track_io_timing"
      value = "on"
    }

    insights_config {
      query_insights_enabled  = true
      query_string_length     = 2048
      record_application_tags = true
    }

    # Processes x (DATABASE_POOL_SIZE + 1 for LISTEN + 1 for background work, + 1 of a worker), with room for a rolling restart (docs/operations/gcp.md).
    database_flags {
      name  = "max_connections"
      value = "400"
    }
  }
}

resource "google_sql_database" "service" {
  name     = "service"
  instance = google_sql_database_instance.service.name
  # Bytes compare faster than words, and no update of the system's languages can damage an index.
  charset   = "UTF8"
  collation = "C"
}

# Each role logs in with its own account's token and has no password. The account's name without .gserviceaccount.com
# is the user's name in Postgres.
resource "google_sql_user" "role" {
  for_each = google_service_account.role
  instance = google_sql_database_instance.service.name
  type     = "CLOUD_IAM_SERVICE_ACCOUNT"
  name     = trimsuffix(each.value.email, ".gserviceaccount.com")
}

resource "google_project_iam_member" "database" {
  for_each = merge([
    for name, account in google_service_account.role : {
      "${name}/client" = { role = "roles/cloudsql.client", member = account.member }
      "${name}/user"   = { role = "roles/cloudsql.instanceUser", member = account.member }
    }
  ]...)
  project = var.project
  role    = each.value.role
  member  = each.value.member
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

