import BLE
import BLERecording
import BLETransfers

#if DeviceCommands
    import BLEFeatures
    import BLEFirmware
#endif

/// The exit statuses of `ble`, which are stable.
enum ExitStatus {
    static let success: Int32 = 0
    static let somethingIsWrong: Int32 = 1
    /// The status of `serviceNotFound`, also used when an assigned number is not found.
    static let nothingFound: Int32 = 16
    static let outputClosed: Int32 = 141

    private static let rows: [(status: Int32, codes: [BLEError.Code], meaning: String)] = [
        (10, [.adapterNotFound], "there is no adapter, or not the requested one"),
        (11, [.poweredOff, .blocked], "the adapter is switched off, or blocked"),
        (12, [.peripheralNotFound], "the peripheral was not found"),
        (13, [.ambiguousPeripheral], "several peripherals have that name"),
        (14, [.connectionFailed, .connectionCancelled, .serviceDiscoveryFailed], "the link could not be established"),
        (15, [.disconnected], "the link ended"),
        (16, [.serviceNotFound, .characteristicNotFound], "no such service or characteristic, or assigned number"),
        (17, [.notSupported, .notPermitted], "the operation is not supported or not permitted"),
        (18, [.pairingRequired], "the peripheral requires pairing"),
        (
            19, [.attributeError, .channelRefused, .invalidOffset, .invalidLength, .procedureFailed],
            "the peripheral refused"
        ),
        (20, [.bluetoothLost], "bluetoothd, the bus or a proxy has stopped"),
        (
            21, [.pairingFailed, .pairingRejected, .pairingCancelled, .pairingTimedOut],
            "pairing failed, or was refused"
        ),
        (22, [.alreadyPaired], "there is already a bond"),
        (23, [], "a message could not be encrypted or decrypted, or keys could not be agreed on"),
        (64, [.invalidArgument], "wrong usage"),
        (
            65, [.invalidValue],
            "the peripheral sent an invalid value or message"
        ),
        (69, [.bluetoothUnavailable], "bluetoothd or the bus is not running, or a proxy cannot be reached"),
        (70, [.failed, .scanFailed, .disconnectionFailed, .overflow, .shutDown], "anything else"),
        (74, [.recordingFailed], "a file could not be read or written"),
        (75, [.busy, .requestInProgress], "another program uses the resource, such as a port"),
        (77, [.unauthorized], "this user may not use Bluetooth, or a proxy refuses the key"),
        (124, [.timedOut], "the operation took too long"),
        (130, [.cancelled], "interrupted (129: hung up, 143: terminated)"),
    ]

    /// The statuses for the errors of `ble devices` and `ble update`.
    #if DeviceCommands
        private static let deviceCodes: [BLEError.Code: Int32] = [
            .encryptionFailed: 23, .featureNotFound: 64, .commandConflict: 64, .invalidMessage: 65,
            .invalidMessageType: 65, .storageFailed: 74, .commandTimedOut: 124, .messageRejected: 19,
            .managementFailed: 19,
            .uploadFailed: 19, .invalidManagementResponse: 65, .invalidFirmwareImage: 64,
        ]
    #else
        private static let deviceCodes: [BLEError.Code: Int32] = [:]
    #endif

    /// The statuses for the errors of `ble send`.
    private static let transferCodes: [BLEError.Code: Int32] = [.transferRefused: 19, .transferFailed: 65]

    static func status(of code: BLEError.Code) -> Int32 {
        rows.first { $0.codes.contains(code) }?.status ?? deviceCodes[code] ?? transferCodes[code] ?? 70
    }

    /// The table of statuses, for the help text.
    static var table: String {
        ([
            (success, "done"),
            (
                somethingIsWrong,
                "ble doctor has found something wrong, ble diff a difference, or ble expect another value"
            ),
        ]
            + rows.map { ($0.status, $0.meaning) })
            .map { status, meaning in
                let number = String(status)
                return "  " + String(repeating: " ", count: 3 - number.count) + number + "  " + meaning
            }
            .joined(separator: "\n")
    }
}
