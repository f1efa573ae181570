variable "project" {
  type        = string
  description = "Id of the Google Cloud project."
}

variable "region" {
  type    = string
  default = "europe-west1"
}

variable "image" {
  type        = string
  description = "The image, by digest: REGION-docker.pkg.dev/PROJECT/service/agent-session-service@sha256:..."
}

variable "public_url" {
  type        = string
  description = "Base address that clients see, https."
}

variable "cors_origins" {
  type        = list(string)
  default     = []
  description = "Origins of web pages that use the API and fetch download links."
}

variable "database_tier" {
  type    = string
  default = "db-custom-2-7680"
}

variable "temporal_namespace_region" {
  type    = string
  default = "gcp-europe-west1"
}

variable "streams_per_instance" {
  type        = number
  default     = 500
  description = "Open streams at which Cloud Run adds an instance; an open stream is a request to it."
}

variable "max_api_instances" {
  type    = number
  default = 10
}
