/* Changes the wall clock of the process that loads this library, by LAB_CLOCK_SHIFT seconds. Monotonic clocks are not changed. A wait until
   a time of the wall clock ends when that time is reached on the changed clock. Not changed: system calls that do not go through the C
   library, such as those of Go, and timers (timer_settime, timerfd_settime). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define REAL(name) static __typeof__(&name) real_##name
REAL(clock_gettime);
REAL(gettimeofday);
REAL(clock_nanosleep);
REAL(sem_timedwait);
REAL(sem_clockwait);
REAL(pthread_cond_timedwait);
REAL(pthread_cond_clockwait);
REAL(pthread_mutex_timedlock);
static time_t shift;

/* The version of a function that programs of today are linked with: dlsym alone may find one for older programs. */
static void *find(const char *name) {
  void *current = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
  return current ? current : dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("LAB_CLOCK_SHIFT");
  shift = text ? atol(text) : 0;
#define FIND(name) real_##name = find(#name)
  FIND(clock_gettime);
  FIND(gettimeofday);
  FIND(clock_nanosleep);
  FIND(sem_timedwait);
  FIND(sem_clockwait);
  FIND(pthread_cond_timedwait);
  FIND(pthread_cond_clockwait);
  FIND(pthread_mutex_timedlock);
}

/* Another library may ask for the time before this one has begun. */
#define READY(name) (real_##name ? 0 : (begin(), 0))

int clock_gettime(clockid_t id, struct timespec *now) {
  READY(clock_gettime);
  int failed = real_clock_gettime(id, now);
  if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += shift;
  return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
  READY(gettimeofday);
  int failed = real_gettimeofday(now, zone);
  if (!failed) now->tv_sec += shift;
  return failed;
}

time_t time(time_t *now) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (now) *now = t.tv_sec;
  return t.tv_sec;
}

/* The time at which the system must end a wait. No machine has been up for so long that its monotonic clock looks like a date. */
static struct timespec end(const struct timespec *wanted) {
  struct timespec real = *wanted;
  if (real.tv_sec > 1000000000) real.tv_sec -= shift;
  return real;
}

int sem_timedwait(sem_t *s, const struct timespec *wanted) {
  struct timespec real = end(wanted);
  READY(sem_timedwait);
  return real_sem_timedwait(s, &real);
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *wanted) {
  struct timespec real = end(wanted);
  READY(pthread_cond_timedwait);
  return real_pthread_cond_timedwait(c, m, &real);
}

int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *wanted) {
  struct timespec real = end(wanted);
  READY(pthread_mutex_timedlock);
  return real_pthread_mutex_timedlock(m, &real);
}

int sem_clockwait(sem_t *s, clockid_t id, const struct timespec *wanted) {
  struct timespec real = end(wanted);
  READY(sem_clockwait);
  return real_sem_clockwait(s, id, &real);
}

int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t id, const struct timespec *wanted) {
  struct timespec real = end(wanted);
  READY(pthread_cond_clockwait);
  return real_pthread_cond_clockwait(c, m, id, &real);
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left) {
  struct timespec real = *wanted;
  if (flags & TIMER_ABSTIME) real = end(wanted);
  READY(clock_nanosleep);
  return real_clock_nanosleep(id, flags, &real, left);
}
