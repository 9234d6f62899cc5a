package constraint

import (
	"cmp"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// Placed returns the tasks of a job that have a node, in the order of their names.
func Placed(job *api.JobInfo) (tasks []*api.TaskInfo) {
	for _, task := range job.Tasks {
		if api.AllocatedStatus(task.Status) {
			tasks = append(tasks, task)
		}
	}

	slices.SortFunc(tasks, func(x, y *api.TaskInfo) int { return cmp.Compare(x.Name, y.Name) })
	return tasks
}

// SpareRoles returns how many pods a job has above the minimum of each of its roles, nil where no role has a minimum.
func SpareRoles(job *api.JobInfo) map[string]int {
	// Volcano looks at roles only where the minimum of the job has room for the minimums of all roles.
	if len(job.TaskMinAvailable) == 0 || job.MinAvailable < job.TaskMinAvailableTotal {
		return nil
	}

	spare := map[string]int{}
	for role, least := range job.TaskMinAvailable {
		spare[role] = -int(least)
	}
	for _, task := range job.Tasks {
		_, known := spare[task.TaskRole]
		if known && (api.AllocatedStatus(task.Status) || task.Status == api.Succeeded) {
			spare[task.TaskRole]++
		}
	}
	return spare
}
