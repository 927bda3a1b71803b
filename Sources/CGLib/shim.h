// What Swift cannot reach in GLib: macros, variadics, and a GSource with state of its own.
#ifndef BLE_CGLIB_SHIM_H
#define BLE_CGLIB_SHIM_H

#include <errno.h>
#include <gio/gio.h>
#include <gio/gunixfdlist.h>
#include <glib-object.h>
#include <glib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/// What a source of the event loop does; `context` is handed to each function.
typedef struct {
    gpointer context;
    /// True when the source can run without waiting for its descriptor.
    gboolean (*ready)(gpointer context);
    /// Runs the source. `condition` is what its descriptor reported, 0 without one.
    void (*run)(gpointer context, GIOCondition condition);
} BLESourceActions;

typedef struct {
    GSource base;
    BLESourceActions actions;
    gpointer tag;
} BLESource;

static inline gboolean ble_source_prepare(GSource *source, gint *timeout) {
    BLESource *self = (BLESource *)source;
    *timeout = -1;
    return self->actions.ready(self->actions.context);
}

static inline gboolean ble_source_check(GSource *source) {
    BLESource *self = (BLESource *)source;
    if (self->tag != NULL && g_source_query_unix_fd(source, self->tag) != 0) return TRUE;
    return self->actions.ready(self->actions.context);
}

static inline gboolean ble_source_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
    BLESource *self = (BLESource *)source;
    (void)callback;
    (void)data;
    self->actions.run(self->actions.context, self->tag == NULL ? 0 : g_source_query_unix_fd(source, self->tag));
    return G_SOURCE_CONTINUE;
}

/// A source that is attached to `context` and watches `descriptor` for `condition`, or nothing when it is -1.
static inline GSource *ble_source_attach(
    GMainContext *context, int descriptor, GIOCondition condition, BLESourceActions actions) {
    static GSourceFuncs functions = {.prepare = ble_source_prepare, .check = ble_source_check, .dispatch = ble_source_dispatch};
    GSource *source = g_source_new(&functions, sizeof(BLESource));
    ((BLESource *)source)->actions = actions;
    // Otherwise GLib takes the descriptor out of the context while the source runs, and wakes the context for it twice.
    g_source_set_can_recurse(source, TRUE);
    if (descriptor >= 0) ((BLESource *)source)->tag = g_source_add_unix_fd(source, descriptor, condition);
    g_source_attach(source, context);
    return source;
}

static inline void ble_source_set_condition(GSource *source, GIOCondition condition) {
    g_source_modify_unix_fd(source, ((BLESource *)source)->tag, condition);
}

/// The number of bytes that were sent over a socket and that the other end has not read, or -1.
static inline int ble_socket_unread(int descriptor) {
    int count = 0;
    return ioctl(descriptor, TIOCOUTQ, &count) == 0 ? count : -1;
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

static inline GQuark ble_dbus_error_quark(void) { return G_DBUS_ERROR; }
static inline GQuark ble_io_error_quark(void) { return G_IO_ERROR; }
/// The descriptor under a stream that `g_dbus_address_get_stream` has opened.
static inline int ble_stream_descriptor(GIOStream *stream) {
    return g_socket_get_fd(g_socket_connection_get_socket((GSocketConnection *)stream));
}
/// Two connected stream sockets with small buffers, as tests want them.
static inline int ble_stream_pair(int *ends) {
    int size = 4096;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    return setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}
/// A stream that owns a socket.
static inline GIOStream *ble_stream_from_descriptor(int descriptor) {
    GSocket *socket = g_socket_new_from_fd(descriptor, NULL);
    GSocketConnection *connection = g_socket_connection_factory_create_connection(socket);
    g_object_unref(socket);
    return (GIOStream *)connection;
}
/// Has the close of a socket not wait for its unsent data.
static inline void ble_disarm_linger(int descriptor) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}
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
