/* Changes the wall clock of the process that loads this library, by LAB_CLOCK_SHIFT seconds. Monotonic clocks are not changed. A wait until
   a time of the wall clock ends when that time is reached on the changed clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static time_t shift(void) {
  const char *text = getenv("LAB_CLOCK_SHIFT");
  return text ? atol(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec *now) {
  int failed = REAL(clock_gettime)(id, now);
  if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
  return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
  int failed = REAL(gettimeofday)(now, zone);
  if (!failed) now->tv_sec += shift();
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
  if (real.tv_sec > 1000000000) real.tv_sec -= shift();
  return real;
}

int sem_timedwait(sem_t *s, const struct timespec *wanted) {
  struct timespec real = end(wanted);
  return REAL(sem_timedwait)(s, &real);
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *wanted) {
  struct timespec real = end(wanted);
  return REAL(pthread_cond_timedwait)(c, m, &real);
}

int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *wanted) {
  struct timespec real = end(wanted);
  return REAL(pthread_mutex_timedlock)(m, &real);
}
