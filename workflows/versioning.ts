import { workflowInfo } from '@temporalio/workflow';

/** True if a versioned worker runs the workflow. The server rejects a versioning behavior from other workers. */
export function isVersioned(): boolean {
  const version = workflowInfo().currentDeploymentVersion;
  return version !== undefined && version.deploymentName !== '';
}
