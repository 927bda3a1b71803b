import BLEBlueZ
import DBus

/// The interfaces that the fake daemon serves.
enum Interfaces {
    static let peer = InterfaceDescription(
        xml: """
            <interface name="\(BlueZ.peer)"><method name="Ping"/></interface>
            """)
    static let objectManager = InterfaceDescription(
        xml: """
            <interface name="\(BlueZ.objectManager)">
              <method name="GetManagedObjects"><arg type="a{oa{sa{sv}}}" direction="out"/></method>
            </interface>
            """)
    static let adapter = InterfaceDescription(
        xml: """
            <interface name="\(BlueZ.adapter)">
              <method name="SetDiscoveryFilter"><arg type="a{sv}" direction="in"/></method>
              <method name="StartDiscovery"/>
              <method name="StopDiscovery"/>
              <method name="RemoveDevice"><arg type="o" direction="in"/></method>
              <property name="Address" type="s" access="read"/>
              <property name="Name" type="s" access="read"/>
              <property name="Alias" type="s" access="readwrite"/>
              <property name="Powered" type="b" access="readwrite"/>
              <property name="Discovering" type="b" access="read"/>
              <property name="Modalias" type="s" access="read"/>
            </interface>
            """)
    static let monitorManager = InterfaceDescription(
        xml: """
            <interface name="\(BlueZ.monitorManager)">
              <method name="RegisterMonitor"><arg type="o" direction="in"/></method>
              <method name="UnregisterMonitor"><arg type="o" direction="in"/></method>
            </interface>
            """)
    static let agentManager = InterfaceDescription(
        xml: """
            <interface name="\(BlueZ.agentManager)">
              <method name="RegisterAgent"><arg type="o" direction="in"/><arg type="s" direction="in"/></method>
              <method name="UnregisterAgent"><arg type="o" direction="in"/></method>
              <method name="RequestDefaultAgent"><arg type="o" direction="in"/></method>
            </interface>
            """)
    static let device = InterfaceDescription(
        xml: """
            <interface name="\(BlueZ.device)">
              <method name="Connect"/>
              <method name="Disconnect"/>
              <method name="Pair"/>
              <method name="CancelPairing"/>
              <property name="Paired" type="b" access="read"/>
              <property name="Bonded" type="b" access="read"/>
              <property name="Trusted" type="b" access="readwrite"/>
              <property name="Blocked" type="b" access="readwrite"/>
              <property name="Address" type="s" access="read"/>
              <property name="Adapter" type="o" access="read"/>
              <property name="Name" type="s" access="read"/>
              <property name="RSSI" type="n" access="read"/>
              <property name="TxPower" type="n" access="read"/>
              <property name="Appearance" type="q" access="read"/>
              <property name="Class" type="u" access="read"/>
              <property name="AddressType" type="s" access="read"/>
              <property name="UUIDs" type="as" access="read"/>
              <property name="ManufacturerData" type="a{qv}" access="read"/>
              <property name="ServiceData" type="a{sv}" access="read"/>
              <property name="Connected" type="b" access="read"/>
              <property name="ServicesResolved" type="b" access="read"/>
            </interface>
            """)
    static let characteristic = InterfaceDescription(
        xml: """
            <interface name="\(BlueZ.gattCharacteristic)">
              \(value)
              <method name="StartNotify"/>
              <method name="StopNotify"/>
              <method name="AcquireNotify">
                <arg type="a{sv}" direction="in"/><arg type="h" direction="out"/><arg type="q" direction="out"/>
              </method>
              <method name="AcquireWrite">
                <arg type="a{sv}" direction="in"/><arg type="h" direction="out"/><arg type="q" direction="out"/>
              </method>
              <property name="MTU" type="q" access="read"/>
            </interface>
            """)
    static let descriptor = InterfaceDescription(
        xml: """
            <interface name="\(BlueZ.gattDescriptor)">
              \(value)
            </interface>
            """)
    private static let value = """
        <method name="ReadValue"><arg type="a{sv}" direction="in"/><arg type="ay" direction="out"/></method>
        <method name="WriteValue"><arg type="ay" direction="in"/><arg type="a{sv}" direction="in"/></method>
        """
}
