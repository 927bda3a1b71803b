// What Swift cannot reach in the system: variadic functions, macros, and what is not the same on Linux and macOS.
#ifndef BLE_CLOOP_SHIM_H
#define BLE_CLOOP_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#endif

// Threads

/// Starts a thread that nothing waits for. Returns 0, or an error number.
static inline int ble_thread_start(void *(*run)(void *), void *context) {
    pthread_t thread;
    pthread_attr_t attributes;
    int result = pthread_attr_init(&attributes);
    if (result != 0) return result;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    result = pthread_create(&thread, &attributes, run, context);
    pthread_attr_destroy(&attributes);
    return result;
}
static inline uintptr_t ble_thread_self(void) { return (uintptr_t)pthread_self(); }
/// Names the current thread. Linux keeps 15 bytes.
static inline void ble_thread_set_name(const char *name) {
#ifdef __linux__
    prctl(PR_SET_NAME, name);
#else
    pthread_setname_np(name);
#endif
}

// Sockets

static const int BLE_STREAM = SOCK_STREAM;
static const int BLE_PACKETS = SOCK_SEQPACKET;

/// Has a socket not be passed to other programs, nor end the process when the other end is closed.
static inline void ble_socket_adopt(int descriptor) {
#ifdef __linux__
    (void)descriptor;
#else
    int on = 1;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
}
/// A stream socket that does not block, or -1.
static inline int ble_stream_open(int family) {
#ifdef __linux__
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
#else
    int descriptor = socket(family, SOCK_STREAM, 0);
    if (descriptor < 0) return -1;
    ble_socket_adopt(descriptor);
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
    return descriptor;
#endif
}
/// Two connected sockets. Returns 0, or -1.
static inline int ble_socket_pair(int type, int *ends) {
#ifdef __linux__
    return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends);
#else
    if (socketpair(AF_UNIX, type, 0, ends) != 0) return -1;
    for (int index = 0; index < 2; index++) ble_socket_adopt(ends[index]);
    return 0;
#endif
}
/// Like `send`, without waiting, and without a signal if the other end is closed.
static inline ssize_t ble_socket_send(int descriptor, const void *bytes, size_t size) {
#ifdef __linux__
    return send(descriptor, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
#else
    return send(descriptor, bytes, size, MSG_DONTWAIT);
#endif
}
/// The family of a socket's address (`AF_`), or 0.
static inline int ble_socket_family(int descriptor) {
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    return getsockname(descriptor, (struct sockaddr *)&address, &size) == 0 ? address.ss_family : 0;
}
/// The number of bytes that were sent over a socket and that the other end has not read, or -1.
static inline int ble_socket_unread(int descriptor) {
    int count = 0;
    return ioctl(descriptor, TIOCOUTQ, &count) == 0 ? count : -1;
}
/// Has the close of a socket not wait for its unsent data.
static inline void ble_disarm_linger(int descriptor) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

#ifdef __linux__

// Waiting

static inline int ble_poll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }
/// Reports a descriptor as readable once, each time that it becomes so.
static const uint32_t BLE_POLL_ONCE = EPOLLIN | EPOLLET;
/// Adds, changes or removes (EPOLL_CTL_*) a descriptor. Returns 0, or an error number.
static inline int ble_poll_control(int poll, int operation, int descriptor, uint32_t events, void *tag) {
    struct epoll_event event = {.events = events, .data = {.ptr = tag}};
    return epoll_ctl(poll, operation, descriptor, &event) == 0 ? 0 : errno;
}

/// A timer that is a descriptor, by the clock of Swift's `ContinuousClock`; -1 if there can be none.
static inline int ble_timer_create(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC); }
/// Has the timer expire once, after a time that is not zero.
static inline void ble_timer_set(int timer, long seconds, long nanoseconds) {
    struct itimerspec time = {.it_value = {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    timerfd_settime(timer, 0, &time, NULL);
}

/// An event that is a descriptor, readable while the event is set; -1 if there can be none.
static inline int ble_event_create(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
static inline void ble_event_set(int event) { eventfd_write(event, 1); }
static inline void ble_event_clear(int event) {
    eventfd_t value;
    eventfd_read(event, &value);
}

// Descriptors in messages

/// Like `recv`, without waiting. Takes over the descriptors that were passed: at most `*count`, which becomes their number,
/// or -1 if none were passed. The kernel passes fewer if the process can have no more.
static inline ssize_t ble_receive(int socket, void *space, size_t size, int *descriptors, int *count) {
    union {
        char bytes[CMSG_SPACE(253 * sizeof(int))];
        struct cmsghdr alignment;
    } control;
    struct iovec part = {.iov_base = space, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    int capacity = *count;
    *count = -1;
    ssize_t received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0) return received;
    if (message.msg_flags & MSG_CTRUNC) *count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header != NULL; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        int passed = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        if (*count < 0) *count = 0;
        for (int index = 0; index < passed; index++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + index * sizeof(int), sizeof(int));
            if (*count < capacity) {
                descriptors[(*count)++] = descriptor;
            } else {
                close(descriptor);
            }
        }
    }
    return received;
}
/// Like `send`, without waiting, and passes descriptors with the first byte: at most 253.
static inline ssize_t ble_send(int socket, const void *bytes, size_t size, const int *descriptors, int count) {
    union {
        char bytes[CMSG_SPACE(253 * sizeof(int))];
        struct cmsghdr alignment;
    } control;
    if (count > 253) {
        errno = EINVAL;
        return -1;
    }
    memset(&control, 0, sizeof control);
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

#endif
#endif
