internal import BLE

extension Catalog {
    /// Vendors' services and characteristics that many devices have, but that the SIG has not assigned: serial ports,
    /// firmware updates, and Apple's services.
    ///
    /// ```swift
    /// print(uuid.name(in: .vendors) ?? "unknown")  // Nordic UART
    /// ```
    ///
    /// The numbers are published by the vendors: Nordic Semiconductor (nRF5 SDK, nRF Connect SDK), the MCUmgr project
    /// (SMP), Silicon Labs (Gecko bootloader), Microchip (Transparent UART), Texas Instruments and JNHuaMao (FFE0),
    /// Apple (ANCS and AMS specifications).
    public static let vendors = Catalog(
        services.map { .service(uuid($0.0), $0.1) } + characteristics.map { .characteristic(uuid($0.0), $0.1) })

    private static func uuid(_ text: String) -> BluetoothUUID { BluetoothUUID(text)! }

    private static let services = [
        ("6e400001-b5a3-f393-e0a9-e50e24dcca9e", "Nordic UART"),
        ("fe59", "Nordic Secure DFU"),
        ("00001530-1212-efde-1523-785feabcd123", "Nordic Legacy DFU"),
        ("00001523-1212-efde-1523-785feabcd123", "Nordic LED Button"),
        ("8d53dc1d-1db7-4cd3-868b-8a527460aa84", "SMP"),
        ("1d14d6ee-fd63-4fa1-bfa4-8f47b42119f0", "Silicon Labs OTA"),
        ("49535343-fe7d-4ae5-8fa9-9fafd205e455", "Microchip Transparent UART"),
        ("ffe0", "Serial Port (FFE0)"),
        ("7905f431-b5ce-4e99-a40f-4b1e122d00d0", "Apple Notification Center"),
        ("89d3502b-0f36-433a-8ef4-c502ad55f8dc", "Apple Media"),
    ]

    private static let characteristics = [
        ("6e400002-b5a3-f393-e0a9-e50e24dcca9e", "Nordic UART RX"),
        ("6e400003-b5a3-f393-e0a9-e50e24dcca9e", "Nordic UART TX"),
        ("8ec90001-f315-4f60-9fb8-838830daea50", "Nordic DFU Control Point"),
        ("8ec90002-f315-4f60-9fb8-838830daea50", "Nordic DFU Packet"),
        ("8ec90003-f315-4f60-9fb8-838830daea50", "Nordic Buttonless DFU Without Bonds"),
        ("8ec90004-f315-4f60-9fb8-838830daea50", "Nordic Buttonless DFU With Bonds"),
        ("00001531-1212-efde-1523-785feabcd123", "Nordic Legacy DFU Control Point"),
        ("00001532-1212-efde-1523-785feabcd123", "Nordic Legacy DFU Packet"),
        ("00001534-1212-efde-1523-785feabcd123", "Nordic Legacy DFU Version"),
        ("00001524-1212-efde-1523-785feabcd123", "Nordic Button"),
        ("00001525-1212-efde-1523-785feabcd123", "Nordic LED"),
        ("da2e7828-fbce-4e01-ae9e-261174997c48", "SMP Characteristic"),
        ("f7bf3564-fb6d-4e53-88a4-5e37e0326063", "Silicon Labs OTA Control"),
        ("984227f3-34fc-4045-a5d0-2c581f81a153", "Silicon Labs OTA Data"),
        ("49535343-8841-43f4-a8d4-ecbe34729bb3", "Microchip UART RX"),
        ("49535343-1e4d-4bd9-ba61-23c647249616", "Microchip UART TX"),
        ("ffe1", "Serial Data (FFE1)"),
        ("9fbf120d-6301-42d9-8c58-25e699a21dbd", "Apple Notification Source"),
        ("69d1d8f3-45e1-49a8-9821-9bbdfdaad9d9", "Apple Notification Control Point"),
        ("22eac6e9-24d6-4bb5-be44-b36ace7c7bfb", "Apple Notification Data Source"),
    ]
}
