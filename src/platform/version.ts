/** The version of the service, its client and its OpenAPI document. docs/operations/upgrading.md says how it is raised. */
export const VERSION = '1.0.0';
