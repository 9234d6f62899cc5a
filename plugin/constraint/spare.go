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

// Missing returns how many pods a job lacks to its minimum, 0 or less for none.
func Missing(job *api.JobInfo) int {
	return int(job.MinAvailable - job.ReadyTaskNum() - job.WaitingTaskNum())
}

// Lacking returns the first pending tasks in an order that give a job its minimum. It is nil if the job has its
// minimum, or if it has too few pending tasks with requests and without gates.
func Lacking(job *api.JobInfo, compare func(x, y *api.TaskInfo) int) (tasks []*api.TaskInfo) {
	n := Missing(job)
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !task.SchGated && !task.BestEffort {
			tasks = append(tasks, task)
		}
	}

	if n <= 0 || len(tasks) < n {
		return nil
	}
	slices.SortFunc(tasks, compare)
	return tasks[:n]
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
