internal import BLE
internal import Loop

/// The socket over which bluetoothd delivers a characteristic's notifications.
struct NotificationSocket {
    let socket: PacketSocket
    /// The characteristic's path.
    let path: String
}

/// A socket that this client has acquired or is acquiring.
struct Acquisition: Hashable {
    let path: String
    let use: AttributeUse
}

/// The sockets that this client has acquired.
struct SocketTable {
    /// The sockets that deliver notifications.
    private var sockets = AttributeTable<NotificationSocket>()
    /// The number of this client's acquisitions of each socket on a peripheral's link whose end bluetoothd has not
    /// signaled. A socket may be acquired again before the end of the last acquisition is signaled.
    private var acquisitions: [Peripheral.ID: [Acquisition: Int]] = [:]

    /// The peripherals with a socket.
    var peripherals: [Peripheral.ID] { sockets.peripherals }

    /// The characteristics of a peripheral with a socket.
    func characteristics(of peripheral: Peripheral.ID) -> [AttributeID] { sockets.all(of: peripheral).map(\.attribute) }

    func socket(of characteristic: AttributeID) -> NotificationSocket? { sockets[characteristic] }

    mutating func open(_ socket: NotificationSocket, _ characteristic: AttributeID) { sockets[characteristic] = socket }

    /// Removes a socket, and returns it to be closed.
    mutating func remove(_ characteristic: AttributeID) -> NotificationSocket? {
        defer { sockets[characteristic] = nil }
        return sockets[characteristic]
    }

    /// Removes the sockets of a peripheral, and returns them to be closed.
    mutating func removeAll(of peripheral: Peripheral.ID) -> [NotificationSocket] {
        defer { sockets.removeAll(of: peripheral) }
        return sockets.all(of: peripheral).map(\.value)
    }

    /// Returns for what this client holds sockets of the characteristic at a path.
    func uses(_ path: String, _ peripheral: Peripheral.ID) -> AttributeUse {
        [AttributeUse.notifyAcquired, .writeAcquired].reduce(into: []) { uses, use in
            if acquisitions[peripheral]?[Acquisition(path: path, use: use)] != nil { uses.insert(use) }
        }
    }

    /// Records that a socket is about to be acquired.
    mutating func acquire(_ acquisition: Acquisition, _ peripheral: Peripheral.ID) {
        acquisitions[peripheral, default: [:]][acquisition, default: 0] += 1
    }

    /// Removes one acquisition, if there is any.
    mutating func acquisitionEnded(_ acquisition: Acquisition, _ peripheral: Peripheral.ID) {
        guard let count = acquisitions[peripheral]?[acquisition] else { return }
        acquisitions[peripheral]?[acquisition] = count > 1 ? count - 1 : nil
    }

    /// Forgets the acquisitions on a peripheral's link, which has ended for this client.
    mutating func forgetAcquisitions(of peripheral: Peripheral.ID) { acquisitions[peripheral] = nil }

    /// Forgets all acquisitions, because bluetoothd is gone.
    mutating func forgetAcquisitions() { acquisitions = [:] }
}
