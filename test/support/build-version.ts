import { eventually } from './eventually.js';
import type { FaultSystem } from './fault-system.js';
import type { RoleProcess } from './role-process.js';

/** Starts a worker of this build, with worker versioning, and makes the build the current one: new workflows and waiting ones run on it. */
export async function startCurrentBuild(system: FaultSystem, buildId: string): Promise<RoleProcess> {
  const deploymentName = `deployment-${system.apis[0]!.env.TASK_QUEUE}`;
  const env = { WORKER_DEPLOYMENT_NAME: deploymentName, WORKER_BUILD_ID: buildId };
  const worker = await system.addRole('worker', env);
  const version = { deploymentName, buildId, version: `${deploymentName}.${buildId}` };
  const request = { namespace: 'default', ...version, ignoreMissingTaskQueues: true };
  // Refused until the server has the workers of the build.
  await eventually('the build is current', () =>
    system.client.workflowService.setWorkerDeploymentCurrentVersion(request).then(
      () => true,
      () => false,
    ),
  );
  return worker;
}
