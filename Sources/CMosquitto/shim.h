// What Swift cannot reach in libmosquitto: `errno` between two calls.
#ifndef BLE_CMOSQUITTO_SHIM_H
#define BLE_CMOSQUITTO_SHIM_H

#include <errno.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <sys/socket.h>

/// Reads what has arrived, at most `limit` packets. libmosquitto reads one packet for each call, and tells only by
/// `errno` whether there was none.
static inline int ble_mosquitto_read(struct mosquitto *client, int limit) {
    int result = MOSQ_ERR_SUCCESS;
    while (limit-- > 0 && result == MOSQ_ERR_SUCCESS && mosquitto_socket(client) >= 0) {
        errno = 0;
        result = mosquitto_loop_read(client, 1);
        if (errno == EAGAIN) break;
    }
    return result;
}

/// 0 while a socket is open or being connected, -1 after the other end has closed it, and otherwise `errno`.
static inline int ble_socket_end(int descriptor) {
    char byte;
    ssize_t count = recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count > 0) return 0;
    if (count == 0 || errno == ECONNRESET) return -1;
    return errno == EAGAIN || errno == EINTR ? 0 : errno;
}

#endif
