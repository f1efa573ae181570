terraform {
  required_version = ">= 1.9"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 7.0"
    }
    temporalcloud = {
      source  = "temporalio/temporalcloud"
      version = "~> 1.0"
    }
  }
}

provider "google" {
  project = var.project
  region  = var.region
}

# Its key comes from TEMPORAL_CLOUD_API_KEY.
provider "temporalcloud" {}
