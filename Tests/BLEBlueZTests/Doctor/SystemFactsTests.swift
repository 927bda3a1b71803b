import Foundation
import Testing

@testable import BLEBlueZ

/// The facts that are read from the files of an invented machine.
@Suite struct SystemFactsTests {
    /// A machine's files in a directory, which is removed with this object.
    private final class Machine {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ble-\(UUID().uuidString)")

        var files: SystemFiles { SystemFiles(root: directory.path) }

        func write(_ text: String, _ path: String) throws {
            let url = directory.appending(path: path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: url, atomically: false, encoding: .utf8)
        }

        deinit { try? FileManager.default.removeItem(at: directory) }
    }

    private let machine = Machine()

    private func addSwitch(_ id: String, type: String, name: String, soft: Int, hard: Int) throws {
        for (file, value) in [("type", type), ("name", name), ("soft", "\(soft)"), ("hard", "\(hard)")] {
            try machine.write("\(value)\n", "sys/class/rfkill/\(id)/\(file)")
        }
    }

    @Test func `a machine without any of it has nothing`() {
        #expect(SystemFacts(machine.files) == SystemFacts())
    }

    @Test func `kill switches are those for Bluetooth`() throws {
        try addSwitch("rfkill0", type: "wlan", name: "phy0", soft: 1, hard: 1)
        try addSwitch("rfkill1", type: "bluetooth", name: "hci0", soft: 1, hard: 0)
        try addSwitch("rfkill2", type: "bluetooth", name: "hp-bluetooth", soft: 0, hard: 1)
        #expect(
            SystemFacts(machine.files).switches == [
                RadioSwitch(id: "rfkill1", name: "hci0", isSoftBlocked: true, isHardBlocked: false),
                RadioSwitch(id: "rfkill2", name: "hp-bluetooth", isSoftBlocked: false, isHardBlocked: true),
            ])
    }

    @Test func `policies are looked through for what bluetoothd calls, and its configuration is read`() throws {
        try machine.write("<policy/>", "etc/dbus-1/system.d/other.conf")
        #expect(SystemFacts(machine.files).interfacesWithoutPolicy.isEmpty)
        let allowed = ["org.bluez.GattCharacteristic1", "org.bluez.GattDescriptor1", "org.freedesktop.DBus.Properties"]
        let lines = allowed.map { "<allow send_interface=\"\($0)\"/>" }.joined(separator: "\n")
        try machine.write("<busconfig>\(lines)</busconfig>", "etc/dbus-1/system.d/bluetooth.conf")
        #expect(
            SystemFacts(machine.files).interfacesWithoutPolicy
                == ["org.bluez.LEAdvertisement1", "org.freedesktop.DBus.ObjectManager"])
        try machine.write(
            "<allow send_interface=\"org.bluez.LEAdvertisement1\"/>", "usr/share/dbus-1/system.d/more.conf")
        #expect(SystemFacts(machine.files).interfacesWithoutPolicy == ["org.freedesktop.DBus.ObjectManager"])
        try machine.write("[General]\n#ReverseServiceDiscovery = false\n", "etc/bluetooth/main.conf")
        #expect(!SystemFacts(machine.files).isReverseDiscoveryOff)
        try machine.write("[General]\nReverseServiceDiscovery = false\n", "etc/bluetooth/main.conf")
        #expect(SystemFacts(machine.files).isReverseDiscoveryOff)
    }

    @Test func `the kernel's adapters and links are distinguished`() throws {
        for name in ["hci10", "hci2", "hci2:64", "hci2:65", "hci10:1"] {
            try machine.write("", "sys/class/bluetooth/\(name)/uevent")
        }
        let facts = SystemFacts(machine.files)
        #expect(facts.isKernelReady)
        #expect(facts.kernelAdapters == ["hci2", "hci10"])
        #expect(facts.kernelLinks == ["hci2": 2, "hci10": 1])
    }

    @Test func `controllers without a driver are found on the USB`() throws {
        for (device, values, driver) in [
            ("1-1:1.0", ["e0", "01", "01"], false), ("1-2:1.0", ["e0", "01", "01"], true),
            ("1-3:1.0", ["03", "01", "01"], false), ("1-4:1.0", ["e0", "01", "04"], false),
        ] {
            for (file, value) in zip(["bInterfaceClass", "bInterfaceSubClass", "bInterfaceProtocol"], values) {
                try machine.write("\(value)\n", "sys/bus/usb/devices/\(device)/\(file)")
            }
            if driver { try machine.write("", "sys/bus/usb/devices/\(device)/driver/x") }
        }
        #expect(SystemFacts(machine.files).driverlessControllers == ["1-1:1.0"])
    }

    @Test(arguments: [("1000 112", true, false), ("1000", false, true)])
    func `the user's groups are those of the process, and those to come`(
        _ groups: String, _ isIn: Bool, _ isOnlyMember: Bool
    ) throws {
        try machine.write(
            "Name:\tble\nUid:\t1\t1000\t1\t1\nGid:\t1000\t1000\t1000\t1000\nGroups:\t\(groups) \n", "proc/self/status")
        try machine.write("root:x:0:0::/:/bin/sh\npi:x:1000:1000::/home/pi:/bin/sh\n", "etc/passwd")
        try machine.write("bluetooth2:x:5:pi\nbluetooth:x:112:root,pi\n", "etc/group")
        let facts = SystemFacts(machine.files)
        #expect(facts.userID == 1000)
        #expect(facts.userName == "pi")
        #expect(facts.hasBluetoothGroup)
        #expect(facts.isMemberOfBluetoothGroup)
        #expect(facts.isInBluetoothGroup == isIn)
        #expect(isOnlyMember == !isIn)
    }

    @Test func `bluetoothd is found as a process and as a program`() throws {
        try machine.write("bash\n", "proc/7/comm")
        #expect(!SystemFacts(machine.files).isDaemonRunning)
        try machine.write("bluetoothd\n", "proc/8/comm")
        try machine.write("", "usr/libexec/bluetooth/bluetoothd")
        let facts = SystemFacts(machine.files)
        #expect(facts.isDaemonRunning)
        #expect(facts.isDaemonInstalled)
    }

    @Test(arguments: [".dockerenv", "run/.containerenv", "run/systemd/container"])
    func `containers leave marks`(_ mark: String) throws {
        try machine.write("", mark)
        #expect(SystemFacts(machine.files).isContainer)
    }

    @Test func `a container shows in its control groups`() throws {
        try machine.write("0::/user.slice\n", "proc/self/cgroup")
        #expect(!SystemFacts(machine.files).isContainer)
        try machine.write("0::/kubepods/pod1\n", "proc/self/cgroup")
        #expect(SystemFacts(machine.files).isContainer)
    }
}
