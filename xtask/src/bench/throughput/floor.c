/*
 * What the kernel has to be asked for at least, for each command in a sandbox of its own, and nothing else: namespaces with a
 * network, a root in memory, the host's programs, a workspace whose writes lie elsewhere, control groups. No filter, no Landlock,
 * no map of owners, nothing given up, read back, tried, sealed or recorded: this is no sandbox, but what one cannot be had for less.
 *
 *     floor DIR TIMES COMMAND…     starts it so often, one after the other, and ends with the code of the last
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const SEPARATE[] = {"memory", "cpu", "pids", NULL};
static const char *const UNIFIED[] = {"", NULL};

static void must(int answer, const char *what)
{
	if (answer < 0) {
		fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
		_exit(125);
	}
}

static void say(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	must(file, path);
	must(write(file, text, strlen(text)) < 0 ? -1 : 0, path);
	close(file);
}

/* The path of a group in the tree of a controller. */
static void group(char *path, size_t size, const char *tree)
{
	snprintf(path, size, "/sys/fs/cgroup/%s/cofferdam-floor.%d", tree, getpid());
}

static void furnish(const char *dir)
{
	char at[4096], layers[12288];
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
	snprintf(at, sizeof at, "%s/root", dir);
	must(mount("floor", at, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=0755"), "root");
	must(chdir(at), at);
	must(mkdir("usr", 0755), "usr");
	must(mount("/usr", "usr", NULL, MS_BIND, NULL), "usr");
	must(mount(NULL, "usr", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), "usr, read-only");
	must(symlink("usr/bin", "bin"), "bin");
	must(symlink("usr/lib", "lib"), "lib");
	must(symlink("usr/lib64", "lib64"), "lib64");
	must(mkdir("proc", 0755), "proc");
	must(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "proc");
	must(mkdir("dev", 0755), "dev");
	must(mknod("dev/null", S_IFREG | 0444, 0), "null");
	must(mount("/dev/null", "dev/null", NULL, MS_BIND, NULL), "null");
	must(mkdir("tmp", 01777), "tmp");
	must(mount("floor", "tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m"), "tmp");
	must(mkdir("workspace", 0755), "workspace");
	snprintf(layers, sizeof layers, "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work,volatile", dir, dir, dir);
	must(mount("floor", "workspace", "overlay", 0, layers), "workspace");
	must((int)syscall(SYS_pivot_root, ".", "."), "pivot_root");
	must(umount2(".", MNT_DETACH), "the host's root");
	must(chdir("/workspace"), "workspace");
}

/* The first process of the new namespaces: waits for the command, as somebody has to. */
static int first(const char *dir, char **command)
{
	int status;
	furnish(dir);
	pid_t child = vfork();
	must(child, "vfork");
	if (child == 0) {
		execv(command[0], command);
		_exit(127);
	}
	must(waitpid(child, &status, 0), "wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

static int start(const char *dir, const char *const *trees, char **command)
{
	char path[4096], file[4200], pid[32];
	int status, ready[2];
	const char *const layers[] = {"upper", "work/work/incompat/volatile/dirty", "work/work/incompat/volatile",
				      "work/work/incompat", "work/work", "work"};
	snprintf(path, sizeof path, "%s/upper", dir);
	must(mkdir(path, 0755), path);
	snprintf(path, sizeof path, "%s/work", dir);
	must(mkdir(path, 0755), path);
	must(pipe2(ready, O_CLOEXEC), "pipe");
	int flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | SIGCHLD;
	pid_t child = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
	must(child, "clone");
	if (child == 0) {
		char go;
		/* In its groups before it does anything. */
		must(read(ready[0], &go, 1) == 1 ? 0 : -1, "word of the parent");
		_exit(first(dir, command));
	}
	snprintf(pid, sizeof pid, "%d", child);
	for (const char *const *tree = trees; *tree; tree++) {
		group(path, sizeof path, *tree);
		must(mkdir(path, 0755), path);
		snprintf(file, sizeof file, "%s/cgroup.procs", path);
		say(file, pid);
	}
	must(write(ready[1], "!", 1) == 1 ? 0 : -1, "word to the child");
	must(waitpid(child, &status, 0), "wait");
	close(ready[0]);
	close(ready[1]);
	for (const char *const *tree = trees; *tree; tree++) {
		group(path, sizeof path, *tree);
		must(rmdir(path), path);
	}
	for (size_t at = 0; at < sizeof layers / sizeof *layers; at++) {
		snprintf(path, sizeof path, "%s/%s", dir, layers[at]);
		/* Which of them the kernel makes differs. */
		if (remove(path) && errno != ENOENT)
			must(-1, path);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

int main(int count, char **words)
{
	char path[4096];
	int code = 0;
	if (count < 4) {
		fprintf(stderr, "usage: floor DIR TIMES COMMAND...\n");
		return 2;
	}
	const char *const *trees = access("/sys/fs/cgroup/cgroup.controllers", F_OK) ? SEPARATE : UNIFIED;
	const char *const made[] = {"", "/root", "/lower"};
	for (size_t at = 0; at < sizeof made / sizeof *made; at++) {
		snprintf(path, sizeof path, "%s%s", words[1], made[at]);
		if (mkdir(path, 0755) && errno != EEXIST)
			must(-1, path);
	}
	for (int left = atoi(words[2]); left > 0; left--)
		code = start(words[1], trees, words + 3);
	return code;
}
