public import BLE

extension BluetoothUUID {
    /// The Nordic UART service.
    public static let nordicUART = BluetoothUUID(high: 0x6E40_0001_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E)
}

/// The Nordic UART service: a serial line, which many development boards and modules provide.
///
/// ```swift
/// let uart = NordicUART(peripheral)
/// let lines = try await uart.lines()
/// try await uart.send("version\n")
/// for try await line in lines { print(line) }
/// ```
///
/// The line is a stream of bytes. The boundaries of its packets have no meaning.
public struct NordicUART: Profile {
    /// 6E400001-B5A3-F393-E0A9-E50E24DCCA9E.
    public static let serviceUUID = BluetoothUUID.nordicUART
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the bytes that the peripheral sends from now on, in the parts in which they arrive. Connects, discovers
    /// and enables notifications if necessary.
    ///
    /// - Parameter overflow: the policy if the reader is slower than the peripheral. By default, the stream keeps 1024
    ///   parts and then throws `overflow`, so that no bytes are lost unnoticed.
    public func bytes(overflow: OverflowPolicy = .fail(capacity: 1024)) async throws(BLEError)
        -> NotificationStream<[UInt8]>
    {
        try await service.notifications(.nordicUARTTx, overflow: overflow)
    }

    /// Returns the lines of text that the peripheral sends from now on. Connects, discovers and enables notifications
    /// if necessary.
    ///
    /// - Parameters:
    ///   - limit: the maximum length of a line, in bytes of UTF-8 without the line end. A longer line throws.
    ///   - overflow: as for ``bytes(overflow:)``.
    public func lines(
        limit: Int = 4096, overflow: OverflowPolicy = .fail(capacity: 1024)
    ) async throws(BLEError) -> NordicUARTLines {
        NordicUARTLines(events: try await bytes(overflow: overflow).events, limit: limit, service: service)
    }

    /// Sends bytes in as many packets as necessary. Returns when the system has accepted them. For many small parts,
    /// ``writer()`` is faster. Throws `busy` while another task is sending; to send from several tasks, share a writer.
    public func send(_ bytes: [UInt8]) async throws(BLEError) {
        let writer = try await writer()
        defer { writer.close() }
        try await writer.write(bytes)
    }

    /// Sends text in UTF-8, without adding a line end.
    public func send(_ text: String) async throws(BLEError) { try await send(Array(text.utf8)) }

    /// Returns a writer of bytes to the peripheral. Connects and discovers if necessary.
    ///
    /// It writes without response if the peripheral supports that, and otherwise with response. There can be only one
    /// writer without response at a time; others throw `busy`.
    public func writer() async throws(BLEError) -> NordicUARTWriter {
        let key = service.key(.nordicUARTRx)
        let properties = try await service.characteristic(key)?.properties
        // The writer reports a missing characteristic.
        guard properties?.contains(.writeWithoutResponse) ?? true else {
            return NordicUARTWriter(peripheral: peripheral, key: key, packets: nil)
        }
        return NordicUARTWriter(
            peripheral: peripheral, key: key, packets: try await peripheral.packetWriter(to: key))
    }
}

extension Characteristic where Value == [UInt8] {
    /// The peripheral's receiver, which is written.
    public static var nordicUARTRx: Self {
        Characteristic(
            BluetoothUUID(high: 0x6E40_0002_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E), service: .nordicUART)
    }

    /// The peripheral's transmitter, which notifies.
    public static var nordicUARTTx: Self {
        Characteristic(
            BluetoothUUID(high: 0x6E40_0003_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E), service: .nordicUART)
    }
}
